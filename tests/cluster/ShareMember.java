import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;

/** Joins a share group and reads until it is ended: arguments are bootstrap servers, group and topic. */
public class ShareMember {
    public static void main(String[] args) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        settings.put("group.id", args[1]);
        settings.put("client.id", "sharer");
        settings.put("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        settings.put("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        try (KafkaShareConsumer<byte[], byte[]> member = new KafkaShareConsumer<>(settings)) {
            member.subscribe(List.of(args[2]));
            while (true) {
                System.out.println(member.poll(Duration.ofMillis(300)).count());
            }
        }
    }
}
