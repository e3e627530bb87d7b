package config_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/config"
)

func TestRedacted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://otto:hunter2@api.example.com/v3.0":  "https://<secret>@api.example.com/v3.0",
		"https://otto:hunt@er2@api.example.com/v3.0": "https://<secret>@api.example.com/v3.0",
		"https://otto:hunt/er2@api.example.com":      "https://<secret>@api.example.com",
		"https://hunter2@api.example.com":            "https://<secret>@api.example.com",
		"redis://:hunter2@redis:6379/0":              "redis://<secret>@redis:6379/0",
		"redis://otto:hun,ter2@redis:6379/0":         "redis://<secret>@redis:6379/0",
		":hunter2@redis:6379":                        "<secret>@redis:6379",
		"[:hunter2@redis:6379]":                      "[<secret>@redis:6379]",
		"hunter2@redis:6379":                         "<secret>@redis:6379",
		`["hunter2@redis:6379","redis-2:6379"]`:      `["<secret>@redis:6379","redis-2:6379"]`,
		"otto:hunter2@kafka:9092":                    "<secret>@kafka:9092",
		"kafka-1:9092,otto:hunter2@kafka-2:9092":     "kafka-1:9092,<secret>@kafka-2:9092",
		"adsync:hunter2@tcp(mysql:3306)/adsync_data": "<secret>@tcp(mysql:3306)/adsync_data",
		"https://api.example.com/v3.0?access_token=hunter2&account_id=7": "https://api.example.com/v3.0?" +
			"access_token=<secret>&account_id=7",
		"https://api.example.com/v3.0": "https://api.example.com/v3.0",
		"127.0.0.1:8080":               "127.0.0.1:8080", "[::1]:80": "[::1]:80",
		"info": "info", "*:important": "*:important", "otto@example.com": "otto@example.com",
	} {
		require.Equal(t, want, config.Redacted(text))
	}
}

func TestPrint_HidesPasswordsInAddresses(t *testing.T) {
	t.Parallel()
	c := defaults()
	c.Store.Data.Replicas = []string{"otto:hunter2@db:3306"}
	sources, err := config.Load(&c, config.Options{})
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, config.Print(&out, &c, sources))
	require.NotContains(t, out.String(), "hunter2")
	require.Contains(t, out.String(), "<secret>@db:3306")
	require.NotContains(t, (&config.FieldError{Key: "addrs", Value: "otto:hunter2@db:3306", Want: "host:port"}).Error(),
		"hunter2")
	require.NotContains(t, config.Problem{Key: "addrs", Value: "redis://:hunter2@db", Message: "want host:port"}.String(),
		"hunter2")
}

func TestSecretVariable(t *testing.T) {
	t.Parallel()
	c := defaults()
	for key, want := range map[string]string{
		"store.data.password": "ADSYNC_STORE_DATA_PASSWORD", "api.tokens": "ADSYNC_API_TOKENS",
		"api.listen": "", "store.data.replicas": "", "no.such": "",
	} {
		variable, holds := config.SecretVariable(&c, key)
		require.Equal(t, want, variable, key)
		require.Equal(t, want != "", holds, key)
	}
}
