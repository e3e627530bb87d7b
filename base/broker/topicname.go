package broker

import "regexp"

// topicName matches what Kafka accepts.
var topicName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,249}$`)

// TopicName returns the topic that carries a media platform's lane.
func (c Config) TopicName(media, lane string) string {
	return c.Prefix + "." + media + "." + lane
}

// GroupName returns the group whose members share the work of a media platform's lane.
func (c Config) GroupName(media, lane string) string {
	return c.Prefix + "." + media + "." + lane
}

// OutcomesTopic returns the topic that carries the ends of subtasks to their tasks' applications.
func (c *Client) OutcomesTopic() string { return c.cfg.Prefix + ".outcomes" }

// TopicName returns the topic that carries a media platform's lane.
func (c *Client) TopicName(media, lane string) string { return c.cfg.TopicName(media, lane) }

// GroupName returns the group whose members share the work of a media platform's lane.
func (c *Client) GroupName(media, lane string) string { return c.cfg.GroupName(media, lane) }
