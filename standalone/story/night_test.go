package story

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/simulator"
	"adsync/simulator/night"
)

func TestNight_PlaysAllThatThePlatformsHave(t *testing.T) {
	t.Parallel()
	platforms, own := simulator.Nights(), 0
	for _, p := range platforms {
		own += len(p.Events)
		if !p.KeepsTokens { // otherwise no token ends
			own++
		}
	}
	// To each platform its pages shift; three events are of all platforms together.
	want := own + len(platforms) + 3
	for _, sc := range Night(platforms).Scenes {
		want -= len(sc.Events)
	}
	require.Zero(t, want, "an event is at a moment that has no scene")
}

func TestNight_NoTokenDiesThatCannotBeRefreshed(t *testing.T) {
	t.Parallel()
	tokens := func(p night.Platform) (names []string) {
		for _, sc := range Night([]night.Platform{p}).Scenes {
			if sc.At == night.Tokens {
				for _, e := range sc.Events {
					names = append(names, e.Name)
				}
			}
		}
		return names
	}
	require.Equal(t, []string{"token died"}, tokens(night.Platform{}))
	require.Empty(t, tokens(night.Platform{KeepsTokens: true}))
}
