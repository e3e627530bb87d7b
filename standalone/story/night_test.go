package story

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/simulator"
)

func TestNight_PlaysAllThatThePlatformsHave(t *testing.T) {
	t.Parallel()
	platforms, own := simulator.Nights(), 0
	for _, p := range platforms {
		own += len(p.Events)
	}
	// To each platform its pages shift and its tokens end; three events are of all platforms together.
	want := own + 2*len(platforms) + 3
	for _, sc := range Night(platforms).Scenes {
		want -= len(sc.Events)
	}
	require.Zero(t, want, "an event is at a moment that has no scene")
}
