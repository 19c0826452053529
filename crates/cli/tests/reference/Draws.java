import java.util.HashMap;
import java.util.Map;
import site.ycsb.Utils;
import site.ycsb.generator.*;

/**
 * Prints what the generators of the reference draw: names of keys, or counts of a thousand bins and
 * then of fifty single keys, those that the distribution is to favour.
 */
public class Draws {
  private static final int FIRST = 50;

  public static void main(String[] words) throws Exception {
    String name = words[0];
    long records = Long.parseLong(words[1]);
    StringBuilder out = new StringBuilder();
    if (name.equals("names")) {
      for (long number = 0; number < records; number++) {
        out.append("user").append(Utils.hash(number)).append('\n');
      }
      System.out.print(out);
      return;
    }
    NumberGenerator generator = generator(name, records);
    long last = records - 1;
    long[] bins = new long[1000 + FIRST];
    Map<Long, Integer> first = new HashMap<>();
    for (int rank = 0; rank < FIRST; rank++) {
      first.putIfAbsent(favoured(name, rank, records), 1000 + rank);
    }
    for (int left = Integer.parseInt(words[2]); left > 0; left--) {
      long number;
      do {
        number = generator.nextValue().longValue();
        number = name.equals("exponential") ? last - number : number;
      } while (number < 0 || number > last);
      bins[(int) (number * 1000 / records)]++;
      Integer rank = first.get(number);
      if (rank != null) {
        bins[rank]++;
      }
    }
    for (long count : bins) {
      out.append(count).append('\n');
    }
    System.out.print(out);
  }

  private static long favoured(String name, int rank, long records) {
    switch (name) {
      case "zipfian": return Utils.fnvhash64(rank) % (records + 1);
      case "latest":
      case "exponential": return records - 1 - rank;
      default: return rank;
    }
  }

  private static NumberGenerator generator(String name, long records) {
    switch (name) {
      case "uniform": return new UniformLongGenerator(0, records - 1);
      case "zipfian": return new ScrambledZipfianGenerator(0, records);
      case "latest": return new SkewedLatestGenerator(new CounterGenerator(records));
      case "hotspot": return new HotspotIntegerGenerator(0, records - 1, 0.2, 0.8);
      case "exponential": return new ExponentialGenerator(95, records * 0.8571428571);
      case "sequential": return new SequentialGenerator(0, records - 1);
      default: throw new IllegalArgumentException(name);
    }
  }
}
