import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

/** A Neo4j Community server on one port: java -cp 'lib/*' Neo4jServer.java DATA HOST PORT. DATA/neo4j.conf says more, if it is there. */
class Neo4jServer {
    public static void main(String[] words) throws Exception {
        var address = new SocketAddress(words[1], Integer.parseInt(words[2]));
        var builder = new DatabaseManagementServiceBuilder(Path.of(words[0]));
        var more = Path.of(words[0], "neo4j.conf");
        if (Files.exists(more)) {
            builder.loadPropertiesFromFile(more);
        }
        var server = builder
            .setConfig(GraphDatabaseSettings.auth_enabled, true)
            .setConfig(BoltConnector.enabled, true)
            .setConfig(BoltConnector.listen_address, address)
            .setConfig(BoltConnector.advertised_address, address)
            .build();
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
        Thread.currentThread().join();
    }
}
