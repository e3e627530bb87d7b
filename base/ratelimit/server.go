package ratelimit

import (
	"context"
	"time"

	"adsync/base/ratelimit/grant"
)

// checkServer reports whether all processes use the server that has answered, and whether this process used another one
// before. A server that is new to this process replaces the one before it. The change is recorded, and both grant
// nothing until no process uses the old one. A process that reaches the old one is barred: it grants nothing until it
// reaches the new one.
func (f *fallback) checkServer(ctx context.Context, server string, wasAway bool) (ok, changed bool) {
	if f.witness == nil || server == "" {
		return true, false
	}
	f.mu.Lock()
	changed = f.server != "" && f.server != server
	if server == f.recordedServer {
		f.useServer(ctx, server)
		f.mu.Unlock()
		return true, changed
	}
	now, noted := f.own.Clock(), f.recordedServer
	alone := f.witnessRead && !f.others
	if noted != "" && !changed && !alone && (f.barred.IsZero() || now.Sub(f.barred) < barredMost) {
		f.bar(ctx, now, nil)
		f.mu.Unlock()
		return false, changed
	}
	f.mu.Unlock()
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), witnessTimeout)
	defer cancel()
	recorded, moved, err := f.witness.Move(bounded, f.media, noted, server)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.movedAt = f.own.Clock()
	if err != nil {
		f.bar(ctx, now, err)
		return false, changed
	}
	f.recordedServer = recorded
	if recorded != server {
		f.bar(ctx, now, nil)
		return false, changed
	}
	f.useServer(ctx, server)
	if noted == "" || !moved {
		return true, changed
	}
	f.log.InfoContext(ctx, "rate limits moved to another redis server")
	if f.moved = true; !wasAway {
		f.own.HoldOff(grant.LongQuiet)
	}
	return false, changed
}

// useServer records the server that this process and all others use.
func (f *fallback) useServer(ctx context.Context, server string) {
	if !f.barred.IsZero() {
		f.log.InfoContext(ctx, "this process reaches the same redis server as the others")
	}
	f.server, f.barred = server, time.Time{}
}

const (
	othersServer = "this process reaches another redis server: it makes no calls"
	notRecorded  = "redis server not recorded: this process makes no calls"
)

// bar stops the calls of this process until it uses a server again. The reason is an err from recording the server,
// or without one that others use another server. bar logs the reason once.
func (f *fallback) bar(ctx context.Context, now time.Time, err error) {
	if !f.barred.IsZero() {
		return
	}
	f.barred, f.why = now, othersServer
	if err != nil {
		f.why = notRecorded
		f.log.WarnContext(ctx, notRecorded, "err", err)
		return
	}
	f.log.WarnContext(ctx, othersServer)
}

func (f *fallback) isBarred() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.barred.IsZero()
}
