// Package platforms_test tests the platforms' packages against the simulated platforms, over HTTP.
package platforms_test

import (
	"testing"

	"adsync/engine"
	"adsync/media/mediatest"
	"adsync/test/platforms/simclient"
)

func TestPlatforms(t *testing.T) {
	t.Parallel()
	for _, p := range engine.Platforms() {
		t.Run(p.Name(), func(t *testing.T) {
			t.Parallel()
			mediatest.Run(t, p, simclient.Serve(p.Name()))
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
