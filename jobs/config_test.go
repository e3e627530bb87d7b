package jobs

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/config"
	"adsync/base/secret"
)

func TestConfig_RefusesAPasswordThatCanBeGuessed(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	for _, password := range []string{"", "twelve chars"} {
		cfg.AdminPassword = secret.NewText(password)
		require.NoError(t, cfg.Validate())
	}
	cfg.AdminPassword = secret.NewText("hunter-2345")
	err := cfg.Validate()
	wrong, is := errors.AsType[*config.FieldError](err)
	require.True(t, is)
	require.Equal(t, "admin_password", wrong.Key)
	require.ErrorContains(t, err, "at least 12 characters")
	require.NotContains(t, err.Error(), "hunter")
}
