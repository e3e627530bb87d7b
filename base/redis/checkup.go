package redis

import (
	"context"
	"fmt"
	"strings"
	"sync"

	goredis "github.com/redis/go-redis/v9"

	"adsync/base/checkup"
)

// CheckUp checks whether Redis is reached, what the user may do, and whether a full memory evicts keys.
func CheckUp(ctx context.Context, client goredis.UniversalClient, keys Keys) []checkup.Finding {
	report := checkup.Report{Server: "redis"}
	if err := eachMaster(ctx, client, func(ctx context.Context,
		c *goredis.Client) error {
		return c.Ping(ctx).Err()
	}); err != nil {
		remedy := "start Redis, or correct redis.addrs"
		if Refused(err) {
			remedy = "correct redis.username and redis.password"
		}
		report.Add("reached", checkup.Fault, err.Error(), remedy)
		return report.Findings
	}
	report.Add("reached", checkup.OK, "", "")
	if err := CheckRights(ctx, client, keys); err != nil {
		report.Add("rights", checkup.Fault, err.Error(), "ACL SETUSER, see docs/servers.md")
	} else {
		report.Add("rights", checkup.OK, "", "")
	}
	policy, err := EvictionPolicy(ctx, client)
	switch {
	case err != nil:
		report.Add("maxmemory-policy", checkup.Skipped, err.Error(), "give the user the right +info by ACL SETUSER")
	case policy != "" && policy != noEviction:
		report.Add("maxmemory-policy", checkup.Warning, policy+
			": a full Redis evicts the records of used quota, and calls exceed the platforms' limits",
			"CONFIG SET maxmemory-policy noeviction, and the same in the server's configuration")
	default:
		report.Add("maxmemory-policy", checkup.OK, policy, "")
	}
	return report.Findings
}

// noEviction is the policy with which a full Redis refuses writes and keeps its keys.
const noEviction = "noeviction"

// EvictionPolicy returns the policy of Redis for a full memory: "noeviction", or another policy of any of its
// masters. It is empty if the server does not report one.
func EvictionPolicy(ctx context.Context, client goredis.UniversalClient) (string, error) {
	var mu sync.Mutex
	found := ""
	err := eachMaster(ctx, client, func(ctx context.Context, c *goredis.Client) error {
		info, err := c.Info(ctx, "memory").Result()
		if err != nil {
			return fmt.Errorf("read the policy for a full memory: %w", err)
		}
		mu.Lock()
		defer mu.Unlock()
		if policy := policyOf(info); found == "" || found == noEviction {
			found = policy
		}
		return nil
	})
	return found, err
}

// policyOf finds the policy in the text of INFO memory.
func policyOf(info string) string {
	for line := range strings.Lines(info) {
		if policy, ok := strings.CutPrefix(strings.TrimSpace(line), "maxmemory_policy:"); ok {
			return policy
		}
	}
	return ""
}

// eachMaster calls do with each master of a cluster, or with the single server.
func eachMaster(ctx context.Context, client goredis.UniversalClient,
	do func(context.Context, *goredis.Client) error) error {
	switch c := client.(type) {
	case *goredis.ClusterClient:
		return c.ForEachMaster(ctx, do)
	case *goredis.Client:
		return do(ctx, c)
	default:
		return fmt.Errorf("a client of type %T is not known", client)
	}
}
