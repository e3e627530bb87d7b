// Package configure has the routes with which operators change their rows of the config database: lanes, call limits,
// logins, copies of tables, and the games of accounts. Package api mounts them.
package configure

import (
	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/store/settings"
)

// editor returns the caller as the editor of rows that operators own.
func editor(c *gin.Context, action string) settings.Editor {
	return settings.Editor{Actor: httpapi.CallerOf(c).Name, Action: action}
}
