package jobs

import (
	"crypto/subtle"
	"net/http"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/localhost"
	"adsync/base/secret"
	"adsync/base/telemetry"
)

const (
	tokenMin = 20 // letters of a token that the caller chooses
	tokenMax = 255
)

// admin answers the admin port.
type admin struct {
	api      *api
	user     string
	password secret.Text // empty if none is needed
}

func (a *admin) handler() http.Handler {
	e := newEngine(a.api.queues.logger)
	e.Use(a.known)
	e.GET("/version", func(c *gin.Context) {
		b := telemetry.ReadBuild()
		c.JSON(http.StatusOK, gin.H{"version": b.Version, "build_commit": b.Commit, "build_date": b.Time})
	})
	e.GET("/pools", func(c *gin.Context) { c.JSON(http.StatusOK, []string{poolDefault}) })
	e.GET("/token/:namespace", a.tokens)
	e.POST("/token/:namespace", a.newToken)
	e.DELETE("/token/:namespace/:token", a.deleteToken)
	return e
}

// known refuses callers without the password, and pages of other sites where none is needed.
func (a *admin) known(c *gin.Context) {
	if a.password.Reveal() == "" {
		if localhost.Rebound(c.Request) {
			refuse(c, http.StatusForbidden, "without a password only requests to localhost are answered")
		}
		return
	}
	user, password, _ := c.Request.BasicAuth()
	right := subtle.ConstantTimeCompare([]byte(user), []byte(a.user)) &
		subtle.ConstantTimeCompare([]byte(password), []byte(a.password.Reveal()))
	if right != 1 {
		c.Header("WWW-Authenticate", `Basic realm="adsync jobs"`)
		refuse(c, http.StatusUnauthorized, "wrong user or password")
	}
}

// tokens lists the beginnings of the tokens: the tables have only these of them.
func (a *admin) tokens(c *gin.Context) {
	all, err := a.api.queues.store.TokensOf(c.Request.Context(), c.Param("namespace"))
	if err != nil {
		a.api.failed(c, "list tokens", err)
		return
	}
	list := gin.H{}
	for _, t := range all {
		list[t.Prefix+"…"] = t.Description
	}
	c.JSON(http.StatusOK, gin.H{"tokens": list})
}

func (a *admin) newToken(c *gin.Context) {
	description, text := c.Request.FormValue("description"), c.Request.FormValue("token")
	token := secret.NewText(text)
	switch {
	case description == "" || len([]rune(description)) > nameMax:
		refuse(c, http.StatusBadRequest, "invalid description")
		return
	case text != "" && len(text) < tokenMin:
		refuse(c, http.StatusBadRequest, "the user token was too short")
		return
	case len(text) > tokenMax:
		refuse(c, http.StatusBadRequest, "the user token was too long")
		return
	case len(c.Param("namespace")) > nameMax:
		refuse(c, http.StatusBadRequest, "the namespace name was too long")
		return
	case !isName(c.Param("namespace")):
		refuse(c, http.StatusBadRequest, "namespace name contains forbidden characters")
		return
	case text == "":
		token = httpapi.NewToken()
	}
	err := a.api.queues.store.AddToken(c.Request.Context(), c.Param("namespace"), token, description,
		a.api.queues.clock.Now())
	if err != nil {
		a.api.failed(c, "add a token", err)
		return
	}
	c.JSON(http.StatusCreated, gin.H{"token": token.Reveal()})
}

func (a *admin) deleteToken(c *gin.Context) {
	err := a.api.queues.store.DeleteToken(c.Request.Context(), c.Param("namespace"), secret.NewText(c.Param("token")))
	if err != nil {
		a.api.failed(c, "delete a token", err)
		return
	}
	c.Status(http.StatusNoContent)
}
