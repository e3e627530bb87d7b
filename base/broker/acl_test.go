package broker_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"adsync/base/broker"
	"adsync/base/broker/brokertest"
	"adsync/base/checkup"
	"adsync/base/secret"
	"adsync/test/services/local"
)

// guardedKafka starts a Kafka whose user adsync has no rights, and returns the settings of that user and a client of a
// superuser.
func guardedKafka(t *testing.T) (broker.Config, *kafka.Client) {
	t.Helper()
	if os.Getenv("ADSYNC_TEST_KAFKA") == "" {
		t.Skip("needs a real Kafka")
	}
	ports := local.NewPorts()
	t.Cleanup(ports.Release)
	guarded := &local.KafkaListener{}
	server := &local.Kafka{Listeners: []*local.KafkaListener{guarded}, Settings: []string{
		"listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CLIENT0:SASL_PLAINTEXT",
		"listener.name.client0.sasl.enabled.mechanisms=PLAIN",
		"listener.name.client0.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule " +
			`required user_adsync="hunter2";`,
		"authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users=User:ANONYMOUS", // who needs no password: the other listeners
	}}
	running, err := local.LaunchAll(t.Context(), t.TempDir(), ports, t.Output(), server)
	for _, s := range running {
		t.Cleanup(func() { require.NoError(t, s.Kill()) })
	}
	require.NoError(t, err)
	cfg := broker.DefaultConfig()
	cfg.Brokers, cfg.Partitions, cfg.Replication, cfg.MinInsync = []string{guarded.Addr}, 2, 1, 1
	cfg.SASL = broker.SASLConfig{Mechanism: broker.MechanismPlain, Username: "adsync", Password: secret.NewText("hunter2")}
	transport := &kafka.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return cfg, &kafka.Client{Addr: kafka.TCP(server.Addr()), Transport: transport}
}

// allow grants the user adsync a right on all of the deployment's topics or groups.
func allow(t *testing.T, admin *kafka.Client, on kafka.ResourceType, op kafka.ACLOperationType) {
	t.Helper()
	res, err := admin.CreateACLs(t.Context(), &kafka.CreateACLsRequest{ACLs: []kafka.ACLEntry{{
		ResourceType: on, ResourceName: "adsync.", ResourcePatternType: kafka.PatternTypePrefixed,
		Principal: "User:adsync", Host: "*", Operation: op, PermissionType: kafka.ACLPermissionTypeAllow,
	}}})
	require.NoError(t, err)
	for _, err := range res.Errors {
		require.NoError(t, err)
	}
}

// forbid revokes it.
func forbid(t *testing.T, admin *kafka.Client, op kafka.ACLOperationType) {
	t.Helper()
	res, err := admin.DeleteACLs(t.Context(), &kafka.DeleteACLsRequest{Filters: []kafka.DeleteACLsFilter{{
		ResourceTypeFilter: kafka.ResourceTypeTopic, ResourceNameFilter: "adsync.",
		ResourcePatternTypeFilter: kafka.PatternTypePrefixed,
		PrincipalFilter:           "User:adsync", HostFilter: "*", Operation: op,
		PermissionType: kafka.ACLPermissionTypeAllow,
	}}})
	require.NoError(t, err)
	require.Len(t, res.Results[0].MatchingACLs, 1)
}

// TestRights_OnAKafkaWithAccessControl works with exactly the rights that docs/servers.md lists, and revokes one.
func TestRights_OnAKafkaWithAccessControl(t *testing.T) {
	t.Parallel()
	cfg, admin := guardedKafka(t)
	c, err := broker.New(cfg, brokertest.Logger(t), prometheus.NewRegistry())
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	const topic = "adsync.tulip.normal"
	topics, groups := []broker.Topic{{Name: topic}, {Name: "adsync.tulip.later"}}, []string{topic}
	wrong := func() map[string]checkup.State {
		found := map[string]checkup.State{}
		for _, f := range c.CheckUp(testContext(t), topics, groups) {
			if f.State != checkup.OK {
				found[f.Check] = f.State
			}
		}
		return found
	}
	require.Equal(t, map[string]checkup.State{
		"right Read on topics": checkup.Fault, "right Write on topics": checkup.Fault, "right Read on groups": checkup.Fault,
	}, wrong())
	err = c.EnsureTopics(testContext(t), topics[:1])
	require.ErrorContains(t, err, "the user lacks the right Describe on the topic "+topic)
	require.ErrorContains(t, err,
		"--add --allow-principal User:adsync --operation Describe --topic adsync. --resource-pattern-type prefixed")
	require.True(t, broker.Refused(err))

	for _, op := range []kafka.ACLOperationType{kafka.ACLOperationTypeRead, kafka.ACLOperationTypeWrite,
		kafka.ACLOperationTypeAlter, kafka.ACLOperationTypeDescribeConfigs} {
		allow(t, admin, kafka.ResourceTypeTopic, op)
	}
	allow(t, admin, kafka.ResourceTypeGroup, kafka.ACLOperationTypeRead)
	require.EventuallyWithT(t, func(ct *assert.CollectT) {
		require.Equal(ct, map[string]checkup.State{"right Create on topics": checkup.Fault}, wrong())
	}, patience, 100*time.Millisecond, "brokers learn of rights a moment later")
	err = c.EnsureTopics(testContext(t), topics[:1])
	require.ErrorContains(t, err, "the user lacks the right Create on the topic "+topic)
	allow(t, admin, kafka.ResourceTypeTopic, kafka.ACLOperationTypeCreate)
	require.Eventually(t, func() bool { return c.EnsureTopics(testContext(t), topics[:1]) == nil }, patience,
		100*time.Millisecond)
	require.Empty(t, wrong())

	// These are all the rights that the work needs.
	in := newInbox()
	g := c.NewGroup(broker.GroupConfig{Group: topic, Topics: []string{topic}}, in.finish)
	require.NoError(t, g.Start(testContext(t)))
	defer g.Stop()
	write(t, c, numbered(topic, 0, 10, 10))
	in.waitValues(t, 10)
	waitCommitted(t, c, topic, topic, 10)
	require.NoError(t, c.EnsureTopics(testContext(t), []broker.Topic{{Name: topic, Partitions: 3}}))
	require.NoError(t, c.Ready(testContext(t)))

	forbid(t, admin, kafka.ACLOperationTypeWrite)
	require.Eventually(t, func() bool {
		_, err := c.Write(testContext(t), numbered(topic, 0, 1, 1))
		return err != nil
	}, patience, 50*time.Millisecond)
	require.ErrorContains(t, c.Ready(testContext(t)), "writes to topic "+topic+" fail for ",
		"at the first write that is refused")
	require.ErrorContains(t, c.Ready(testContext(t)), "the user lacks the right Write on the topic "+topic)
	require.Equal(t, map[string]checkup.State{"right Write on topics": checkup.Fault}, wrong())
	allow(t, admin, kafka.ResourceTypeTopic, kafka.ACLOperationTypeWrite)
	require.Eventually(t, func() bool {
		_, err := c.Write(testContext(t), numbered(topic, 0, 1, 1))
		return err == nil
	}, patience, 50*time.Millisecond)
	require.NoError(t, c.Ready(testContext(t)))

	forbid(t, admin, kafka.ACLOperationTypeRead)
	require.EventuallyWithT(t, func(ct *assert.CollectT) {
		err := c.Ready(context.Background())
		require.ErrorContains(ct, err, "reads of group "+topic+" fail for ")
		require.ErrorContains(ct, err, "the user lacks the right Read on the topic "+topic)
	}, patience, 100*time.Millisecond)
}
