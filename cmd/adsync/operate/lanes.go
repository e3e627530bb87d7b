package operate

import (
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
)

const lanesPath = "/api/v1/lanes"

func newLanes(a *settings.Source) *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:   "lanes",
		Short: "Shows and changes lanes",
		Long: `Work travels on lanes: a lane of a platform has a topic of its own, and in each consumer a pool. LANE is the
name of a lane of every platform, or MEDIA:NAME, which takes its place for one platform.`,
		Example: `  adsync lanes list
  adsync lanes set {media}:normal --pool-size 48`,
	})
	cmd.AddCommand(newLanesList(a), newLanesShow(a), newLanesSet(a), newLanesDelete(a))
	return cmd
}

// laneArg takes a lane.
var laneArg = usage.Args(1, `a lane, as NAME or MEDIA:NAME: "adsync lanes list" lists them`)

func lanePath(lane string) string {
	media, name, ofOne := strings.Cut(lane, ":")
	if !ofOne {
		media, name = "*", lane
	}
	return lanesPath + "/" + url.PathEscape(media) + "/" + url.PathEscape(name)
}
