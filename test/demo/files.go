package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"adsync/base/day"
	"adsync/base/task"
	"adsync/client"
	"adsync/standalone"
	"adsync/test/compose"
	"adsync/test/rig"
	"adsync/test/services/local"
)

const (
	// latestMinutes is how long a file waits for whole figures.
	latestMinutes = 1
	// fileTime is how long the check waits for all files.
	fileTime = 10 * time.Minute
)

// server is a server of files that test/services has started.
type server struct {
	local.FileLogin
	kind client.DestinationKind
}

// servers returns the servers of files, and reports those that are missing.
func servers(say func(format string, args ...any)) ([]server, error) {
	var all []server
	for _, s := range []struct {
		kind     client.DestinationKind
		variable string
	}{
		{client.DestinationKindS3, "ADSYNC_TEST_S3"},
		{client.DestinationKindSftp, "ADSYNC_TEST_SFTP"},
		{client.DestinationKindFtps, "ADSYNC_TEST_FTPS"},
	} {
		text := os.Getenv(s.variable)
		if text == "" {
			say("no %s server was started: no report files go to one", s.kind)
			continue
		}
		found := server{kind: s.kind}
		if err := json.Unmarshal([]byte(text), &found.FileLogin); err != nil {
			return nil, fmt.Errorf("read %s: %w", s.variable, err)
		}
		all = append(all, found)
	}
	return all, nil
}

// destination returns the row of a server.
func (s *server) destination() client.DestinationRequest {
	request := client.DestinationRequest{Kind: s.kind, Address: &s.Address, Login: &s.User, HostKey: &s.HostKey, Ca: &s.CA}
	if s.Password != "" {
		request.Password = &s.Password
	}
	if s.Key != "" {
		request.Key = &s.Key
	}
	if s.kind == client.DestinationKindS3 {
		request.Options = map[string]any{"path_style": true, "region": "us-east-1"}
	} else {
		request.Prefix = &s.Dir
	}
	return request
}

// subscribe makes each server of files a destination of the sample subscriptions.
func subscribe(ctx context.Context, d *compose.Deployment) ([]server, error) {
	all, err := servers(d.Say)
	if err != nil {
		return nil, err
	}
	api := d.API()
	for i := range all {
		to := string(all[i].kind)
		if _, err := api.PutDestination(ctx, to, all[i].destination()); err != nil {
			return nil, err
		}
		answer, err := api.TestDestination(ctx, to)
		if err != nil {
			return nil, err
		}
		if !answer.Ok {
			return nil, fmt.Errorf("the destination %s: %s", to, answer.Detail)
		}
		for _, s := range standalone.Samples {
			request := client.SubscriptionRequest{
				Query: &s.Query, Path: &s.Path, Destination: &to, Cron: new(standalone.SampleCron),
				Timezone: new(standalone.SampleZone), Completeness: &client.Completeness{
					When: "complete", LatestMinutes: latestMinutes, Parked: "name",
				},
			}
			if err := json.Unmarshal([]byte(s.Format), &request.Format); err != nil {
				return nil, err
			}
			if _, err := api.PutSubscription(ctx, s.Name+"_"+to, request); err != nil {
				return nil, err
			}
		}
		d.Say("report files go to %s: %s, below %s", to, all[i].Address, all[i].Dir)
	}
	return all, nil
}

// yesterday is the last day that has ended in the samples' zone.
func yesterday() (string, error) {
	zone, err := time.LoadLocation(standalone.SampleZone)
	if err != nil {
		return "", err
	}
	return day.Of(time.Now(), zone).Add(-1).String(), nil
}

// order orders the files of yesterday.
func order(ctx context.Context, d *compose.Deployment, all []server) error {
	yesterday, err := yesterday()
	if err != nil {
		return err
	}
	for i := range all {
		for _, s := range standalone.Samples {
			name := s.Name + "_" + string(all[i].kind)
			_, err := d.API().OrderPublications(ctx, name, client.PublicationOrder{From: yesterday, To: yesterday})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// pullCreatives pulls the creatives' figures of yesterday, which the crons pull by night.
func pullCreatives(ctx context.Context, d *compose.Deployment) error {
	yesterday, err := yesterday()
	if err != nil {
		return err
	}
	d.Say("ordering the creatives' figures of %s", yesterday)
	for _, media := range compose.Platforms {
		err := d.Run(ctx, media+".report_daily.creative",
			client.OrderRequest{Scope: task.ScopeAll, From: yesterday, To: yesterday})
		if err != nil {
			return err
		}
	}
	return nil
}

// compareFiles orders files and waits for them. It compares each, as its server has it, with the SHA-256 of what was
// made of its rows.
func compareFiles(ctx context.Context, d *compose.Deployment, all []server, out io.Writer) error {
	if err := pullCreatives(ctx, d); err != nil {
		return err
	}
	if err := order(ctx, d, all); err != nil {
		return err
	}
	want := len(all) * len(standalone.Samples)
	var files []client.Publication
	err := rig.Await(ctx, fileTime, "all report files are published", func(ctx context.Context) (bool, error) {
		list, err := d.API().ListPublications(ctx, client.ListPublicationsParams{})
		if err != nil {
			return false, err
		}
		files = list.Publications
		for _, f := range files {
			if f.State != client.PublicationStatePublished {
				return false, fmt.Errorf("%s at %s is %s: %s", f.Name, f.Destination, f.State, f.Error)
			}
		}
		return len(files) == want, fmt.Errorf("there are %d files: want %d", len(files), want)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Report files, as their servers have them:\n\n")
	var wrong []error
	for _, f := range files {
		sum, err := sumAt(all, f)
		switch {
		case err != nil:
			wrong = append(wrong, err)
		case sum != f.Sha256:
			wrong = append(wrong, fmt.Errorf("%s at %s has the SHA-256 %s: want %s", f.Name, f.Destination, sum, f.Sha256))
		case f.Rows == nil || *f.Rows == 0:
			wrong = append(wrong, fmt.Errorf("%s at %s has no rows", f.Name, f.Destination))
		default:
			fmt.Fprintf(out, "  %-5s %-40s %8d rows  %s\n", f.Destination, f.Name, *f.Rows, sum)
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nAll %d report files arrived as they were made.\n", len(files))
	return nil
}

// sumAt returns the SHA-256 of a file as its server has it.
func sumAt(all []server, f client.Publication) (string, error) {
	for i := range all {
		if string(all[i].kind) != f.Destination {
			continue
		}
		content, err := os.ReadFile(filepath.Join(all[i].Dir, filepath.FromSlash(f.Name)))
		sum := sha256.Sum256(content)
		return hex.EncodeToString(sum[:]), err
	}
	return "", fmt.Errorf("there is no server for the destination %s", f.Destination)
}
