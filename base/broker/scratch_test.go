package broker_test
import ("testing";"time";"context";"fmt";"github.com/stretchr/testify/require";"github.com/prometheus/client_golang/prometheus";"adsync/base/broker";"adsync/base/broker/brokertest";"adsync/base/secret")
func TestScratchSASL(t *testing.T) {
	for _, m := range []string{"plain","scram-sha-256","scram-sha-512"} {
		cfg := broker.DefaultConfig(); cfg.Brokers = []string{"127.0.0.1:29194"}; cfg.Replication, cfg.MinInsync = 1, 1
		cfg.SASL = broker.SASLConfig{Mechanism: m, Username: "adsync", Password: secret.NewText("right")}
		c, err := broker.New(cfg, brokertest.Logger(t), prometheus.NewRegistry()); require.NoError(t, err)
		require.NoError(t, c.Ping(testContext(t)))
		topic := "jobs-"+m
		require.NoError(t, c.EnsureTopics(testContext(t), []broker.Topic{{Name: topic}}))
		in := newInbox()
		g := join(t, c, "g-"+m, topic, in.finish)
		write(t, c, numbered(topic, 0, 60, 30))
		in.wait(t, 60)
		g.Stop(); c.Close()
		cfg.SASL.Password = secret.NewText("wrong")
		c, err = broker.New(cfg, brokertest.Logger(t), prometheus.NewRegistry()); require.NoError(t, err)
		t0 := time.Now()
		fmt.Println(m, "ping:", c.Ping(context.Background()), time.Since(t0)); t0 = time.Now()
		_, err = c.Write(context.Background(), numbered(topic, 0, 2, 2)); fmt.Println("write:", err, time.Since(t0)); t0 = time.Now()
		fmt.Println("start:", c.NewGroup(broker.GroupConfig{Group:"x", Topics: []string{topic}}, nil).Start(context.Background()), time.Since(t0))
		c.Close()
		cfg.SASL = broker.SASLConfig{}
		c, err = broker.New(cfg, brokertest.Logger(t), prometheus.NewRegistry()); require.NoError(t, err)
		t0 = time.Now()
		fmt.Println("none ping:", c.Ping(context.Background()), time.Since(t0))
		c.Close()
	}
}
