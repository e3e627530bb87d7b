package task_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/task"
)

func TestOrder_ItsApplicationIsAName(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"": true, "shop": true, "a.b-c_9": true, "a" + strings.Repeat("b", 63): true, "a" + strings.Repeat("b", 64): false,
		"Shop": false, "9a": false, "a b": false, "a\n": false,
	} {
		o := task.Order{Scope: task.ScopeAll, Application: name}
		require.Equal(t, ok, task.IsApplication(name), name)
		if ok {
			require.NoError(t, o.Validate(), name)
		} else {
			require.ErrorContains(t, o.Validate(), "application: ", name)
		}
	}
}
