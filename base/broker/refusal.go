package broker

import (
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"
)

// right is what a user may do with a topic, a group or the cluster, in the words of kafka-acls.sh.
type right struct {
	operation string // such as Write
	on        string // "topic", "group" or "cluster"
	name      string // of the topic or group
}

func (r right) String() string {
	if r.on == "cluster" {
		return r.operation + " on the cluster"
	}
	return fmt.Sprintf("%s on the %s %s", r.operation, r.on, r.name)
}

// grant returns the command that gives the right to the user on all topics or groups of the deployment.
func (r right) grant(cfg Config) string {
	user := cfg.SASL.Username
	if user == "" {
		user = "USER"
	}
	command := fmt.Sprintf("kafka-acls.sh --bootstrap-server %s --add --allow-principal User:%s --operation %s",
		cfg.Brokers[0], user, r.operation)
	if r.on == "cluster" {
		return command + " --cluster"
	}
	return fmt.Sprintf("%s --%s %s. --resource-pattern-type prefixed", command, r.on, cfg.Prefix)
}

// explain adds the remedy to an error of too few copies, or of a missing right. The topic or the group is that of the
// operation; either may be empty.
func (c *Client) explain(err error, operation, topic, group string) error {
	var missing right
	switch {
	case errors.Is(err, kafka.NotEnoughReplicas), errors.Is(err, kafka.NotEnoughReplicasAfterAppend):
		return fmt.Errorf(
			"fewer copies are in sync than the topic's min.insync.replicas requires: start the brokers that are away, or "+
				"lower it: %w", err)
	case errors.Is(err, kafka.TopicAuthorizationFailed):
		missing = right{operation, "topic", topic}
	case errors.Is(err, kafka.GroupAuthorizationFailed):
		missing = right{"Read", "group", group}
	case errors.Is(err, kafka.ClusterAuthorizationFailed):
		missing = right{operation, "cluster", ""}
	default:
		return err
	}
	return fmt.Errorf("the user lacks the right %s (%s): %w", missing, missing.grant(c.cfg), err)
}
