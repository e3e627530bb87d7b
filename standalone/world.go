package standalone

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"adsync/base/clock"
	"adsync/base/secret"
	"adsync/base/store"
	"adsync/simulator"
	"adsync/simulator/control"
	"adsync/standalone/live"
	"adsync/standalone/story"
	"adsync/upkeep"
)

// world holds the simulated platforms, inside this process or at an address.
type world struct {
	sim     *simulator.Simulator // nil if it runs elsewhere
	address string               // of the control API, without a trailing slash
	clock   clock.Clock
	speed   float64
	creds   credentials
	live    *live.Live   // a real account instead of a simulated world
	http    *http.Client // the client that reaches the platforms; nil = the engine's own
	isNew   bool         // its accounts were bound by this start
	close   func() error
}

// openWorld starts the simulator, or connects to the one at Options.Simulator. With Once it stops the world's clock,
// at the beginning of the story if there is one.
func openWorld(ctx context.Context, o Options, dir *dataDir, night *story.Story) (*world, error) {
	if o.Live != nil {
		l, err := live.Open(*o.Live)
		if err != nil {
			return nil, err
		}
		return &world{live: l, http: l.HTTP(), clock: clock.System{}, speed: 1, close: func() error { return nil }}, nil
	}
	if o.Simulator != "" {
		return askWorld(ctx, o)
	}
	cfg := simulator.Config{
		Accounts: o.Accounts, Seed: o.Seed, Speed: o.Speed, USD: o.USD, Platforms: o.Platforms, Logger: o.Logger,
		DataDir: dir.file("world"), Frozen: o.Once,
		Traps: !o.Once, // a world for users misbehaves as real ones do; a story orders its faults itself
	}
	if night != nil {
		cfg.Start = night.Begins()
	}
	sim, err := simulator.New(cfg)
	if err != nil {
		return nil, err
	}
	w := &world{sim: sim, clock: sim.Clock(), speed: sim.Clock().Speed()}
	if !o.Once && sim.Clock().Frozen() {
		// An earlier --once stopped the clock of this world.
		if err := sim.Clock().Resume(); err != nil {
			return nil, errors.Join(err, sim.Close())
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, sim.Close())
	}
	server := &http.Server{Handler: sim.Handler(), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	w.close = func() error {
		err := server.Close()
		if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
			err = errors.Join(err, ended)
		}
		return errors.Join(err, sim.Close())
	}
	w.address = "http://" + listener.Addr().String()
	if night != nil {
		err = night.Prepare(ctx, w.control(), w.sim.Clock())
	}
	if err == nil {
		w.creds, err = askCredentials(ctx, w.address)
	}
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// askWorld connects to a simulator that runs elsewhere, whose clock only the simulator knows.
func askWorld(ctx context.Context, o Options) (*world, error) {
	w := &world{address: strings.TrimSuffix(o.Simulator, "/"), close: func() error { return nil }}
	if o.Once {
		if err := w.control().Post(ctx, "clock", map[string]any{"frozen": true}); err != nil {
			return nil, err
		}
	}
	var state struct {
		Now    time.Time `json:"now"`
		Speed  float64   `json:"speed"`
		Frozen bool      `json:"frozen"`
	}
	if err := w.control().Get(ctx, "clock", &state); err != nil {
		return nil, err
	}
	w.speed = state.Speed
	w.clock = clock.NewScaled(state.Now, state.Speed, state.Frozen)
	var err error
	w.creds, err = askCredentials(ctx, w.address)
	return w, err
}

// real returns how long a time of the world lasts in real time.
func (w *world) real(d time.Duration) time.Duration {
	if w.speed <= 0 {
		return d
	}
	return time.Duration(float64(d) / w.speed)
}

// bind writes the simulator's credentials into an empty config database, or the token of a live account.
func (w *world) bind(ctx context.Context, s *store.Store, box *secret.Box) (err error) {
	if w.live != nil {
		return w.live.Bind(ctx, s, box)
	}
	_, w.isNew, err = bind(ctx, s, box, w.address, w.creds)
	return err
}

// has reports whether tasks of a media have work: the system's, and those of platforms that the world has.
func (w *world) has(media string) bool {
	_, simulated := w.creds[media]
	return simulated || media == upkeep.Name
}

// control returns a client of the simulator's control API.
func (w *world) control() control.Client { return control.Client{Address: w.address} }

// baseURLs returns the addresses of the platforms.
func (w *world) baseURLs() map[string]string {
	if w.live != nil {
		return map[string]string{w.live.Media: w.live.BaseURL}
	}
	return w.creds.baseURLs(w.address)
}
