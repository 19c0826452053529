import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import org.rocksdb.*;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * Records in the RocksDB that YCSB's binding has, stored as it stores them, for YCSB's own client to
 * load and to read: the binding itself is in no repository. The families that a database has are
 * those that its file CF_NAMES names, and no other is opened.
 */
public class Records extends DB {
  private static final byte[] TABLE = "usertable".getBytes(StandardCharsets.UTF_8);
  private static RocksDB db;
  private static ColumnFamilyHandle table;
  private static int clients;

  @Override
  public void init() throws DBException {
    synchronized (Records.class) {
      clients++;
      if (db != null) {
        return;
      }
      try {
        Path place = Paths.get(getProperties().getProperty("rocksdb.dir"));
        open(Files.createDirectories(place));
      } catch (Exception e) {
        throw new DBException(e);
      }
    }
  }

  private static void open(Path place) throws Exception {
    Path names = place.resolve("CF_NAMES");
    List<String> known = Files.exists(names) ? Files.readAllLines(names) : Arrays.asList("default");
    List<ColumnFamilyDescriptor> families = new ArrayList<>();
    for (String name : known) {
      byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
      families.add(new ColumnFamilyDescriptor(bytes, family()));
    }
    List<ColumnFamilyHandle> handles = new ArrayList<>();
    DBOptions options = new DBOptions().setCreateIfMissing(true);
    db = RocksDB.open(options, place.toString(), families, handles);
    if (!known.contains("usertable")) {
      table = db.createColumnFamily(new ColumnFamilyDescriptor(TABLE, family()));
      Files.write(names, Arrays.asList("default", "usertable"));
    } else {
      table = handles.get(known.indexOf("usertable"));
    }
  }

  private static ColumnFamilyOptions family() {
    return new ColumnFamilyOptions().optimizeLevelStyleCompaction();
  }

  @Override
  public void cleanup() {
    synchronized (Records.class) {
      clients--;
      if (clients == 0) {
        table.close();
        db.close();
      }
    }
  }

  @Override
  public Status read(String name, String key, Set<String> fields, Map<String, ByteIterator> result) {
    try {
      byte[] value = db.get(table, key.getBytes(StandardCharsets.UTF_8));
      if (value == null) {
        return Status.NOT_FOUND;
      }
      ByteBuffer left = ByteBuffer.wrap(value);
      while (left.hasRemaining()) {
        String field = new String(part(left), StandardCharsets.UTF_8);
        result.put(field, new ByteArrayByteIterator(part(left)));
      }
      return Status.OK;
    } catch (RocksDBException e) {
      System.err.println(e.getMessage());
      return Status.ERROR;
    }
  }

  private static byte[] part(ByteBuffer from) {
    byte[] part = new byte[from.getInt()];
    from.get(part);
    return part;
  }

  @Override
  public Status insert(String name, String key, Map<String, ByteIterator> values) {
    ByteBuffer record = ByteBuffer.allocate(1 << 20);
    for (Map.Entry<String, ByteIterator> value : values.entrySet()) {
      for (byte[] part : new byte[][] {
          value.getKey().getBytes(StandardCharsets.UTF_8), value.getValue().toArray()}) {
        record.putInt(part.length).put(part);
      }
    }
    try {
      byte[] bytes = Arrays.copyOf(record.array(), record.position());
      db.put(table, key.getBytes(StandardCharsets.UTF_8), bytes);
      return Status.OK;
    } catch (RocksDBException e) {
      return Status.ERROR;
    }
  }

  @Override
  public Status update(String name, String key, Map<String, ByteIterator> values) {
    Map<String, ByteIterator> all = new HashMap<>();
    Status found = read(name, key, null, all);
    all.putAll(values);
    return found.isOk() ? insert(name, key, all) : found;
  }

  @Override
  public Status scan(String name, String key, int count, Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) {
    return Status.NOT_IMPLEMENTED;
  }

  @Override
  public Status delete(String name, String key) {
    return Status.NOT_IMPLEMENTED;
  }
}
