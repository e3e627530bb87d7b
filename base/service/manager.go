package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"adsync/base/clock"
)

const (
	// StartTimeoutDefault is how long one part may take to start.
	StartTimeoutDefault = time.Minute
	// StartPatience is how long a part may wait for a server at its start: a database that is restarting, a broker that
	// starts later. A longer wait needs the attention of the person who restarts the process.
	StartPatience = 5 * time.Minute
	// StopTimeoutDefault is how long one part may take to stop. The longest is a consumer whose servers do not answer:
	// 10 s of drain, 1.5 s for Kafka, 0.5 s each for Redis and the last outcomes.
	StopTimeoutDefault = 13 * time.Second
	// StopTotalDefault is how long all parts together may take to stop, so that the process ends within 15 s.
	StopTotalDefault = 14 * time.Second
)

// Failing is implemented by a part that can fail while it runs.
type Failing interface {
	// Failed returns a channel that receives one error if the part cannot continue. It receives nothing at a planned
	// stop.
	Failed() <-chan error
}

// Manager starts parts in the order in which they were added and stops them in the reverse order.
type Manager struct {
	logger       *slog.Logger
	parts        []part
	startTimeout time.Duration
	stopTimeout  time.Duration
	stopTotal    time.Duration
}

type part struct {
	name    string
	service Service
	patient bool
}

// NewManager returns a manager without parts.
func NewManager(logger *slog.Logger) *Manager {
	return &Manager{
		logger:       logger,
		startTimeout: StartTimeoutDefault,
		stopTimeout:  StopTimeoutDefault,
		stopTotal:    StopTotalDefault,
	}
}

// Add appends a part. Add a part after those that it needs.
func (m *Manager) Add(name string, s Service) {
	m.parts = append(m.parts, part{name: name, service: s})
}

// AddPatient is Add for a part that may take StartPatience to start, because it waits for an external server.
func (m *Manager) AddPatient(name string, s Service) {
	m.parts = append(m.parts, part{name: name, service: s, patient: true})
}

// Run starts all parts, waits until ctx ends or a part fails, and stops all parts that were started.
//
// It returns nil if ctx ended and all parts stopped in time, also if ctx ended while they were starting. Otherwise it
// returns why a part did not start, why it failed, or which parts did not stop in time. These are then still
// stopping, and the process should exit.
func (m *Manager) Run(ctx context.Context) error {
	failed := make(chan error, len(m.parts))
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWatching()

	started := 0
	var reason error
	for _, p := range m.parts {
		if ctx.Err() != nil {
			break
		}
		if err := m.start(ctx, p); err != nil {
			if ctx.Err() == nil {
				reason = fmt.Errorf("start %s: %w", p.name, err)
				m.logger.Error("part did not start", "part", p.name, "err", err)
			}
			break
		}
		started++
		m.watch(watching, p, failed)
	}
	if reason == nil {
		select {
		case <-ctx.Done():
			m.logger.Info("stopping", "reason", context.Cause(ctx).Error())
		case reason = <-failed:
			m.logger.Error("stopping because a part failed", "err", reason)
		}
	}
	// Stopping parts may make others fail, which is then expected.
	stopWatching()
	return errors.Join(reason, m.stop(m.parts[:started]))
}

func (m *Manager) start(ctx context.Context, p part) error {
	began := clock.Mark()
	limit := m.startTimeout
	if p.patient {
		limit = StartPatience
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %s", limit))
	defer cancel()
	if err := p.service.Start(ctx); err != nil {
		return err
	}
	m.logger.Info("started", "part", p.name, "took", clock.Since(began).Round(time.Millisecond))
	return nil
}

func (m *Manager) watch(ctx context.Context, p part, failed chan<- error) {
	f, ok := p.service.(Failing)
	if !ok {
		return
	}
	go func() {
		select {
		case err := <-f.Failed():
			failed <- fmt.Errorf("%s failed: %w", p.name, err)
		case <-ctx.Done():
		}
	}()
}

// stop stops the parts from the last to the first. It does not wait for a part that takes too long, so that a hanging
// part does not keep the others from saving their state.
func (m *Manager) stop(parts []part) error {
	var errs []error
	total := time.NewTimer(m.stopTotal)
	defer total.Stop()
	for _, p := range slices.Backward(parts) {
		began := clock.Mark()
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			p.service.Stop()
		}()
		one := time.NewTimer(m.stopTimeout)
		select {
		case <-stopped:
			m.logger.Info("stopped", "part", p.name, "took", clock.Since(began).Round(time.Millisecond))
		case <-one.C:
			errs = append(errs, fmt.Errorf("%s did not stop within %s", p.name, m.stopTimeout))
			m.logger.Error("part did not stop in time: continuing without it", "part", p.name, "limit", m.stopTimeout)
		case <-total.C:
			one.Stop()
			m.logger.Error("stopping took too long: the remaining parts are abandoned", "part", p.name, "limit", m.stopTotal)
			return errors.Join(append(errs, fmt.Errorf("%s and the parts before it did not stop within %s", p.name,
				m.stopTotal))...)
		}
		one.Stop()
	}
	return errors.Join(errs...)
}
