package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/metadata"

	"adsync/base/checkup"
	"adsync/base/plural"
)

// CheckUp checks whether each configured broker is reached and new enough, what the user may do with the topics and
// groups, and whether the topics have the copies that their writes wait for. It changes nothing.
func (c *Client) CheckUp(ctx context.Context, topics []Topic, groups []string) []checkup.Finding {
	e := &examination{Report: checkup.Report{Server: "kafka"}, client: c}
	if !e.brokers(ctx) {
		return e.Findings
	}
	names := make([]string, 0, len(topics))
	for _, topic := range topics {
		names = append(names, topic.Name)
	}
	answer, err := c.describeTopics(ctx, names)
	if err != nil {
		e.Add("topics", checkup.Fault, err.Error(), "")
		return e.Findings
	}
	e.topics(answer)
	e.groups(ctx, groups)
	e.copies(ctx, answer)
	return e.Findings
}

// examination is the check of one cluster.
type examination struct {
	checkup.Report
	client *Client
}

// brokers checks each configured broker, and reports whether any answered.
func (e *examination) brokers(ctx context.Context) bool {
	reached := false
	for _, address := range e.client.cfg.Brokers {
		err := e.broker(ctx, address)
		if err == nil {
			reached = true
			continue
		}
		remedy := "start the broker, or correct broker.brokers, broker.tls and broker.sasl"
		if Refused(err) {
			remedy = "correct broker.sasl, or broker.tls"
		}
		e.Add("reached", checkup.Fault, fmt.Sprintf("%s: %v", address, err), remedy)
	}
	return reached
}

// broker checks which requests one broker takes: OffsetDelete is new in Kafka 2.4.
func (e *examination) broker(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	res, err := e.client.kafka.ApiVersions(ctx, &kafka.ApiVersionsRequest{Addr: kafka.TCP(address)})
	if err == nil {
		err = res.Error
	}
	if err != nil {
		return err
	}
	e.Add("reached", checkup.OK, address, "")
	if !slices.ContainsFunc(res.ApiKeys,
		func(k kafka.ApiVersionsResponseApiKey) bool { return k.ApiKey == int(protocol.OffsetDelete) }) {
		e.Add("version", checkup.Fault, address+" is older than Kafka 2.4", "upgrade the brokers to Kafka 2.4 or newer")
	}
	return nil
}

// topics checks what the user may do with each topic.
func (e *examination) topics(answer *metadata.Response) {
	cluster := operations(answer.ClusterAuthorizedOperations)
	lacking := map[string][]string{} // topics by operation
	later := map[string][]string{}   // topics by operation that only a change will need
	known := false
	for _, topic := range answer.Topics {
		has, code := operations(topic.TopicAuthorizedOperations), kafka.Error(topic.ErrorCode)
		if code == kafka.TopicAuthorizationFailed {
			// Each of these rights includes Describe, so the user has none of them.
			for _, op := range []int{opRead, opWrite} {
				lacking[operationNames[op]] = append(lacking[operationNames[op]], topic.Name)
			}
			known = true
			continue
		}
		if !has.known() {
			continue
		}
		known = true
		for _, op := range []int{opDescribe, opRead, opWrite} {
			if !has.may(op) {
				lacking[operationNames[op]] = append(lacking[operationNames[op]], topic.Name)
			}
		}
		if !has.may(opCreate) && !cluster.may(opCreate) {
			into := later
			if code == kafka.UnknownTopicOrPartition {
				into = lacking
			}
			into[operationNames[opCreate]] = append(into[operationNames[opCreate]], topic.Name)
		}
		if !has.may(opAlter) {
			later[operationNames[opAlter]] = append(later[operationNames[opAlter]], topic.Name)
		}
	}
	if !known && len(answer.Topics) > 0 {
		e.Add("rights on topics", checkup.Skipped, "the brokers do not report which rights the user has", "")
		return
	}
	e.lacking("topic", lacking, checkup.Fault, "the user lacks it on ")
	e.lacking("topic", later, checkup.Warning, "the user lacks it, which a new lane or more partitions need, on ")
	if len(lacking) == 0 {
		e.Add("rights on topics", checkup.OK, plural.Count(len(answer.Topics), "topic", "topics"), "")
	}
}

// lacking adds a finding for each operation that is missing on some topics or groups.
func (e *examination) lacking(kind string, byOperation map[string][]string, state checkup.State, words string) {
	for _, op := range []string{"Describe", "Read", "Write", "Create", "Alter"} {
		names := byOperation[op]
		if len(names) == 0 {
			continue
		}
		on := names[0]
		if len(names) > 1 {
			on += fmt.Sprintf(" and %d more", len(names)-1)
		}
		e.Add(fmt.Sprintf("right %s on %ss", op, kind), state, words+on, right{op, kind, on}.grant(e.client.cfg))
	}
}

// groups checks what the user may do with each group.
func (e *examination) groups(ctx context.Context, groups []string) {
	lacking := map[string][]string{}
	for _, group := range groups {
		has, err := e.client.groupRights(ctx, group)
		switch {
		case errors.Is(err, kafka.GroupAuthorizationFailed), err == nil && has.known() && !has.may(opRead):
			lacking["Read"] = append(lacking["Read"], group)
		case err != nil:
			e.Add("rights on groups", checkup.Skipped, err.Error(), "")
			return
		case !has.known():
			e.Add("rights on groups", checkup.Skipped, "the brokers do not report which rights the user has", "")
			return
		}
	}
	e.lacking("group", lacking, checkup.Fault, "the user lacks it on ")
	if len(lacking) == 0 {
		e.Add("rights on groups", checkup.OK, plural.Count(len(groups), "group", "groups"), "")
	}
}

// copies checks whether the topics have the copies that their writes wait for, now and after the loss of a broker.
func (e *examination) copies(ctx context.Context, answer *metadata.Response) {
	var there []metadata.ResponseTopic
	var names []string
	for _, topic := range answer.Topics {
		if topic.ErrorCode == 0 && len(topic.Partitions) > 0 {
			there, names = append(there, topic), append(names, topic.Name)
		}
	}
	if want := e.client.cfg.Replication; len(there) < len(answer.Topics) && want > len(answer.Brokers) {
		e.Add("replication", checkup.Fault, fmt.Sprintf("new topics get %d copies, and the cluster has %s", want,
			plural.Count(len(answer.Brokers), "broker", "brokers")),
			"set broker.replication to at most their number, and broker.min_insync below it, or add brokers")
	}
	if len(there) == 0 {
		return
	}
	insync, err := e.client.minInsync(ctx, names)
	if err != nil {
		e.Add("min.insync.replicas", checkup.Skipped, err.Error(), right{"DescribeConfigs", "topic", ""}.grant(e.client.cfg))
		return
	}
	worst := checkup.Finding{State: checkup.OK, Detail: "as many copies are in sync as each topic requires"}
	for _, topic := range there {
		least, _ := strconv.Atoi(insync[topic.Name])
		for _, p := range topic.Partitions {
			if found := copiesOf(topic.Name, p, least, len(answer.Brokers)); worse(found.State, worst.State) {
				worst = found
			}
		}
	}
	e.Add("min.insync.replicas", worst.State, worst.Detail, worst.Remedy)
}

// worse reports whether state a is graver than b, among the states that copiesOf returns.
func worse(a, b checkup.State) bool {
	grave := []checkup.State{checkup.OK, checkup.Warning, checkup.Fault}
	return slices.Index(grave, a) > slices.Index(grave, b)
}

// copiesOf checks the copies of a partition whose writes wait for least of them.
func copiesOf(topic string, p metadata.ResponsePartition, least, brokers int) checkup.Finding {
	all, insync := len(p.ReplicaNodes), len(p.IsrNodes)
	at := fmt.Sprintf("topic %s, partition %d: ", topic, p.PartitionIndex)
	switch {
	case insync < min(least, all):
		return checkup.Finding{
			State: checkup.Fault, Detail: fmt.Sprintf("%s%d of %d copies are in sync and it requires %d: writes are refused", at,
				insync, all, least),
			Remedy: "start the brokers that are away",
		}
	case least > all:
		return checkup.Finding{
			State: checkup.Warning,
			Detail: fmt.Sprintf(
				"%sit has %s and requires %d in sync: older brokers refuse every write, newer ones wait for all copies", at,
				plural.Count(all, "copy", "copies"), least),
			Remedy: "lower the topic's min.insync.replicas below the number of its copies, or add copies",
		}
	case all > 1 && least == all:
		return checkup.Finding{
			State:  checkup.Warning,
			Detail: fmt.Sprintf("%sit requires all of its %d copies in sync: the loss of one broker stops all writes", at, all),
			Remedy: "lower the topic's min.insync.replicas by one",
		}
	case all == 1 && brokers > 1:
		return checkup.Finding{
			State: checkup.Warning, Detail: at + "it has one copy: while its broker is away it is neither written nor read",
			Remedy: "add copies with kafka-reassign-partitions.sh",
		}
	}
	return checkup.Finding{State: checkup.OK}
}
