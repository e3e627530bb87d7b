package local

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// This file has what Sentinel and Cluster share.

func redisOf(s *Server) *Redis { return s.Kind.(*Redis) }

func redisAddrs(servers []*Server) []string {
	addrs := make([]string, len(servers))
	for i, s := range servers {
		addrs[i] = redisOf(s).addr
	}
	return addrs
}

// do sends commands and ignores their answers.
func (s *Redis) do(ctx context.Context, commands ...[]any) error {
	client := s.client()
	defer client.Close()
	for _, c := range commands {
		if err := client.Do(ctx, c...).Err(); err != nil {
			return fmt.Errorf("%s: %v: %w", s.Name(), c, err)
		}
	}
	return nil
}

// linked returns an error unless the server is a master with at least so many replicas that follow it.
func linked(ctx context.Context, master *Redis, replicas int) error {
	replication, err := master.replication(ctx)
	if err != nil {
		return err
	}
	online := 0
	for i := range replicas {
		if strings.Contains(replication["slave"+strconv.Itoa(i)], "state=online") {
			online++
		}
	}
	if replication["role"] != "master" || online < replicas {
		return fmt.Errorf("%s is a %s and %d replicas follow it, want a master with %d",
			master.Name(), replication["role"], online, replicas)
	}
	return nil
}

// promoted returns an error unless the server is another one than old and a master by its own account.
func promoted(ctx context.Context, master, old *Server) error {
	if master == old {
		return fmt.Errorf("%s is still the master", old.Name())
	}
	replication, err := redisOf(master).replication(ctx)
	if err != nil {
		return err
	}
	if replication["role"] != "master" {
		return fmt.Errorf("%s is still a %s", master.Name(), replication["role"])
	}
	return nil
}

// voteTimeout is how long a server may take to answer; one that is frozen does not answer at all.
const voteTimeout = time.Second

// agreed reads from all voters the address of one of servers, and returns the server that more than half of the
// answers name.
func agreed(
	ctx context.Context, servers, voters []*Server, ask func(ctx context.Context, voter *Redis) (addr string, err error),
) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, voteTimeout)
	defer cancel()
	addrs, errs := make([]string, len(voters)), make([]error, len(voters))
	var asking sync.WaitGroup
	for i, v := range voters {
		asking.Go(func() { addrs[i], errs[i] = ask(ctx, redisOf(v)) })
	}
	asking.Wait()
	votes, answers := map[string]int{}, 0
	for i, addr := range addrs {
		if errs[i] == nil {
			votes[addr]++
			answers++
		}
	}
	for _, s := range servers {
		if 2*votes[redisOf(s).addr] > answers {
			return s, nil
		}
	}
	return nil, errors.Join(errors.Join(errs...),
		fmt.Errorf("%d servers answer, and no majority names one server: %v", answers, votes))
}
