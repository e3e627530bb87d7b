// The command example is a program that follows its own work. It orders the report file of a day, waits until adsync
// sends the end of the file's subtask, and prints what was delivered. The subscription must have an application.
//
//	ADSYNC_TOKEN=… go run ./client/example -server http://producer:8080 -brokers kafka:9092 -subscription spend \
//	  -day 2026-11-20
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"adsync/client"
	"adsync/client/outcomes"
)

func main() {
	server := flag.String("server", "http://127.0.0.1:8080", "the address of a producer")
	brokers := flag.String("brokers", "127.0.0.1:9092", "the addresses of some Kafka brokers, with commas between them")
	topic := flag.String("topic", "", "the topic of outcomes; empty: adsync.outcomes")
	subscription := flag.String("subscription", "", "the subscription's name")
	day := flag.String("day", "", "the day of the file, such as 2026-11-20")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	kafka := outcomes.Config{Brokers: strings.Split(*brokers, ","), Topic: *topic,
		Problem: func(err error) { fmt.Fprintln(os.Stderr, "example:", err) }}
	c := client.New(*server, os.Getenv("ADSYNC_TOKEN"))
	if err := deliver(ctx, c, kafka, *subscription, *day, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1) //nolint:gocritic // The signal is no longer of interest.
	}
}

// deliver orders the file of a day, waits for the end of its subtask, and prints the file.
func deliver(ctx context.Context, c *client.Client, kafka outcomes.Config, subscription, day string,
	out io.Writer) error {
	s, err := c.GetSubscription(ctx, subscription)
	if err != nil {
		return err
	}
	if s.Application == "" {
		return fmt.Errorf("the subscription %s has no application: set one with adsync subscriptions put", s.Name)
	}
	ordered, err := c.OrderPublications(ctx, s.Name, client.PublicationOrder{From: day, To: day})
	if err != nil {
		return err // A *client.Problem names each field that is refused, and what would be right.
	}
	file := ordered.Publications[0]
	fmt.Fprintf(out, "ordered %s\n", file.Name)

	// A new group begins with the oldest message, so the file's message cannot come too early. A program that runs all the
	// time has one group, and continues where it was.
	kafka.Application, kafka.Group = s.Application, "example-"+file.ID
	ended := errors.New("the file's message has come")
	var end outcomes.Outcome
	err = outcomes.Follow(ctx, kafka, func(_ context.Context, o outcomes.Outcome) error {
		if o.Handler != "system.files" || o.Part != part(file) {
			return nil
		}
		end = o
		return ended
	})
	switch {
	case err == nil:
		return ctx.Err()
	case !errors.Is(err, ended):
		return err
	case end.State != outcomes.Succeeded:
		return fmt.Errorf("%s: its subtask is %s: %s", file.Name, end.State, end.Text)
	case len(end.Files) == 0:
		return fmt.Errorf("%s: there were no rows, and the subscription sends no empty file", file.Name)
	}
	for _, f := range end.Files {
		fmt.Fprintf(out, "delivered %s to %s: %d rows, SHA-256 %s\n", f.Name, f.Destination, f.Rows, f.SHA256)
	}
	return nil
}

// part returns the part of the subtask that makes a file.
func part(p client.Publication) string {
	period := p.From
	if p.To != p.From {
		period += "_" + p.To
	}
	return fmt.Sprintf("%s/%s/r%d", p.Subscription, period, p.Revision)
}
