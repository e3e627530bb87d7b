package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/store/settings"
	"adsync/base/store/storetest"
)

func TestRequiredTopics_AreThoseOfPlatformsWithoutGoCodeToo(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	require.NoError(t, s.PutExternalMedia(t.Context(), settings.Editor{Actor: "otto", Action: "test"}, "tenth",
		func(row *settings.ExternalMedia, _ bool) error {
			row.Timezone, row.Currency, row.Enabled = "Asia/Tokyo", "USD", true
			return nil
		}))
	topics, err := requiredTopics(t.Context(), s, func(media, lane string) string { return media + "." + lane })
	require.NoError(t, err)
	var names []string
	for _, topic := range topics {
		names = append(names, topic.Name)
	}
	require.Subset(t, names, []string{"system.normal", "tencent.important", "tenth.important", "tenth.normal"})
}
