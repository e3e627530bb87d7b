package broker_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"adsync/base/broker"
	"adsync/base/broker/brokertest"
	"adsync/base/checkup"
	"adsync/base/secret"
)

// allowed returns the rights of a user on names with a prefix.
func allowed(on kmsg.ACLResourceType, prefix string, operations ...kmsg.ACLOperation) []kfake.ACL {
	var all []kfake.ACL
	for _, op := range operations {
		all = append(all, kfake.ACL{Resource: on, Name: prefix, Pattern: kmsg.ACLResourcePatternTypePrefixed, Operation: op,
			Allow: true})
	}
	return all
}

// checked returns the findings of a check by a user with some rights, by their subjects, without the OK ones.
func checked(t *testing.T, there []string, change func(*broker.Config), acls ...kfake.ACL) map[string]checkup.Finding {
	t.Helper()
	b := brokertest.NewFake(t, there, kfake.NumBrokers(3), kfake.EnableSASL(), kfake.EnableACLs(),
		kfake.Superuser("PLAIN", "admin", "admin"), kfake.User("PLAIN", "adsync", "hunter2", acls...))
	c := b.Client(t, func(cfg *broker.Config) {
		cfg.SASL = broker.SASLConfig{Mechanism: broker.MechanismPlain, Username: "adsync",
			Password: secret.NewText("hunter2")}
		if change != nil {
			change(cfg)
		}
	})
	topics := []broker.Topic{{Name: "adsync.system.normal"}, {Name: "adsync.tulip.important"},
		{Name: "adsync.tulip.normal"}}
	wrong := map[string]checkup.Finding{}
	for _, f := range c.CheckUp(testContext(t), topics, []string{"adsync.system.normal", "adsync.tulip.normal"}) {
		require.Equal(t, "kafka", f.Server)
		require.NotContains(t, f.Detail+f.Remedy, "hunter2")
		if f.State != checkup.OK {
			wrong[f.Check] = f
		}
	}
	return wrong
}

const (
	onTopic, onGroup            = kmsg.ACLResourceTypeTopic, kmsg.ACLResourceTypeGroup
	mayRead, mayWrite           = kmsg.ACLOperationRead, kmsg.ACLOperationWrite
	mayCreate, mayAlter         = kmsg.ACLOperationCreate, kmsg.ACLOperationAlter
	mayDescribe, mayReadConfigs = kmsg.ACLOperationDescribe, kmsg.ACLOperationDescribeConfigs
)

func TestCheckUp_NamesEachMissingRightAndItsGrant(t *testing.T) {
	t.Parallel()
	there := []string{"adsync.system.normal", "adsync.tulip.important"}
	groups := allowed(onGroup, "adsync.", mayRead)
	all := append(allowed(onTopic, "adsync.", mayRead, mayWrite, mayCreate, mayAlter, mayReadConfigs), groups...)
	require.Empty(t, checked(t, there, nil, all...), "these are the rights that docs/servers.md lists")

	for name, tt := range map[string]struct {
		acls []kfake.ACL
		want map[string]string // the beginning of the details, by their subjects
	}{
		"no right at all": {nil, map[string]string{
			"right Read on topics":  "the user lacks it on adsync.system.normal and 2 more",
			"right Write on topics": "the user lacks it on adsync.system.normal and 2 more",
			"right Read on groups":  "the user lacks it on adsync.system.normal and 1 more",
		}},
		"topics may not be written": {append(allowed(onTopic, "adsync.", mayRead, mayCreate, mayAlter, mayReadConfigs),
			groups...), map[string]string{
			"right Write on topics": "the user lacks it on adsync.system.normal and 2 more",
		}},
		"those of a platform may not be read": {
			append(append(allowed(onTopic, "adsync.", mayWrite, mayCreate, mayAlter, mayReadConfigs),
				allowed(onTopic, "adsync.system", mayRead)...), groups...), map[string]string{
				"right Read on topics": "the user lacks it on adsync.tulip.important and 1 more",
			}},
		"a topic may not be made": {append(allowed(onTopic, "adsync.", mayRead, mayWrite, mayAlter, mayReadConfigs),
			groups...), map[string]string{
			"right Create on topics": "",
		}},
		"groups may only be seen": {append(allowed(onTopic, "adsync.", mayRead, mayWrite, mayCreate, mayAlter,
			mayReadConfigs), allowed(onGroup, "adsync.", mayDescribe)...), map[string]string{
			"right Read on groups": "the user lacks it on adsync.system.normal and 1 more",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong := checked(t, there, nil, tt.acls...)
			for check, detail := range tt.want {
				require.Contains(t, wrong, check)
				require.Contains(t, wrong[check].Detail, detail)
				require.Contains(t, wrong[check].Remedy, "kafka-acls.sh --bootstrap-server 127.0.0.1:")
				require.Contains(t, wrong[check].Remedy, " --add --allow-principal User:adsync --operation ")
				require.Contains(t, wrong[check].Remedy, " adsync. --resource-pattern-type prefixed")
			}
			require.Len(t, wrong, len(tt.want), wrong)
		})
	}
}

func TestCheckUp_ReportsBrokersThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	check := func(b *brokertest.Broker, change func(*broker.Config)) []checkup.Finding {
		return b.Client(t, change).CheckUp(testContext(t), []broker.Topic{{Name: "adsync.tulip.normal"}}, nil)
	}
	b := brokertest.NewFake(t, nil, kfake.NumBrokers(1))
	found := check(b, func(cfg *broker.Config) {
		cfg.Brokers = append(cfg.Brokers, "127.0.0.1:1")
		cfg.Replication, cfg.MinInsync = 3, 2
	})
	require.Equal(t, checkup.OK, found[0].State, found)
	require.Equal(t, checkup.Fault, found[1].State, "each address is tried")
	require.Contains(t, found[1].Detail, "127.0.0.1:1: ")
	require.Equal(t, checkup.Finding{
		Server: "kafka", Check: "replication", State: checkup.Fault,
		Detail: "new topics get 3 copies, and the cluster has 1 broker",
		Remedy: "set broker.replication to at most their number, and broker.min_insync below it, or add brokers",
	}, found[len(found)-1])

	old := brokertest.NewFake(t, nil, kfake.MaxVersions(kversion.V2_3_0()))
	found = check(old, nil)
	require.Equal(t, "version", found[1].Check)
	require.Contains(t, found[1].Detail, " is older than Kafka 2.4")
	young := brokertest.NewFake(t, nil, kfake.MaxVersions(kversion.V2_4_0()))
	for _, f := range check(young, nil) {
		require.NotEqual(t, "version", f.Check)
	}
}

func TestCheckUp_JudgesTheCopiesOfTopics(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		copies, least int
		want          checkup.State
		detail        string
	}{
		"one more than is waited for": {3, 2, checkup.OK, "as many copies are in sync as each topic requires"},
		"all of them are waited for": {3, 3, checkup.Warning,
			"it requires all of its 3 copies in sync: the loss of one broker stops all writes"},
		"more than there are": {2, 3, checkup.Warning,
			"it has 2 copies and requires 3 in sync: older brokers refuse every write"},
		"a topic of a single copy": {1, 1, checkup.Warning, "it has one copy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := brokertest.NewFake(t, nil, kfake.NumBrokers(max(tt.copies, 2)))
			c := b.Client(t, nil)
			if tt.copies == 1 {
				require.NoError(t, c.EnsureTopics(testContext(t), []broker.Topic{{Name: "jobs"}}))
			} else {
				require.NoError(t, b.Cluster(t).CreateTopic("jobs", 2,
					map[string]string{"min.insync.replicas": strconv.Itoa(tt.least)}))
			}
			found := c.CheckUp(testContext(t), []broker.Topic{{Name: "jobs"}}, nil)
			last := found[len(found)-1]
			require.Equal(t, "min.insync.replicas", last.Check, found)
			require.Equal(t, tt.want, last.State, last)
			require.Contains(t, last.Detail, tt.detail)
		})
	}
}
