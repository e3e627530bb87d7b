package pull

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"adsync/base/ratelimit"
	"adsync/media"
)

// gatherTime is how long the first account of a joint query waits for others.
const gatherTime = 200 * time.Millisecond

// joints holds the joint queries that wait for more accounts, by what they request.
type joints struct {
	mu   sync.Mutex
	open map[string]*joint
}

// joint is a query that reads the rows of several accounts. Each of its members is a subtask, which has claimed its own
// scope before, and writes its own rows under that claim.
type joint struct {
	members []member
	full    chan struct{} // closed when no more members fit
}

type member struct {
	account media.Account
	granted func()     // notes that a call is about to be made
	answer  chan share // closed without a value if there is none
}

// share is what a joint query brought for one account. If it is empty, the account has to be read alone: an account
// without a row may have none, or the platform may have left it out.
type share struct {
	rows []media.Row
	err  error
}

// countingAPI also counts the calls of the joint queries that its subtask has made.
type countingAPI struct {
	media.CountingAPI
	joint int
}

// Calls implements media.CountingAPI.
func (a *countingAPI) Calls() int { return a.CountingAPI.Calls() + a.joint }

// fetchJointly reads an account's rows in one query with the rows of other accounts whose subtasks make the same query
// at the same time. The first of these subtasks makes the calls.
func (p *puller) fetchJointly(ctx context.Context, api *countingAPI, report media.Report, q media.ReportQuery) share {
	account := api.Account()
	m := member{account: account, granted: func() { ratelimit.Granted(ctx) }, answer: make(chan share, 1)}
	key := fmt.Sprintf("%d %s %s %s %s %d %v", account.TokenID, account.Zone, account.Currency, report.Name, report.Level,
		ratelimit.Importance(ctx), q)
	if j, isFirst := p.joints.join(key, m, report.AccountsMax); isFirst {
		select {
		case <-j.full:
		case <-time.After(gatherTime):
		case <-ctx.Done():
		}
		members := p.joints.close(key, j)
		login := p.Caller.For(media.Account{Media: account.Media, TokenID: account.TokenID, Zone: account.Zone,
			Currency: account.Currency})
		lead(ctx, login, members, report, q)
		api.joint += login.Calls()
	} else {
		defer ratelimit.Waiting(ctx)()
	}
	select {
	case got := <-m.answer:
		return got
	case <-ctx.Done():
		return share{err: ctx.Err()}
	}
}

// join adds a member to the query of a key, and reports whether it is the first. A query with most members is closed.
func (s *joints) join(key string, m member, most int) (j *joint, isFirst bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j = s.open[key]
	if isFirst = j == nil; isFirst {
		j = &joint{full: make(chan struct{})}
		if s.open == nil {
			s.open = map[string]*joint{}
		}
		s.open[key] = j
	}
	if j.members = append(j.members, m); len(j.members) == most {
		delete(s.open, key)
		close(j.full)
	}
	return j, isFirst
}

// close closes a query for more members, and returns its members.
func (s *joints) close(key string, j *joint) []member {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[key] == j {
		delete(s.open, key)
	}
	return j.members
}

// lead makes a query for its members, and answers each.
func lead(ctx context.Context, login media.API, members []member, report media.Report, q media.ReportQuery) {
	defer func() {
		for _, m := range members {
			close(m.answer)
		}
	}()
	readJointly(ratelimit.WithGranted(ctx, func() {
		for _, m := range members {
			m.granted()
		}
	}), login, members, report, q)
}

// readJointly reads the rows of the members' accounts in one query. An error that a single account may cause is no
// member's answer. Where the platform refuses the query, each half of the accounts is read separately, until each is
// read alone. After any other such error, all are read alone.
func readJointly(ctx context.Context, login media.API, members []member, report media.Report, q media.ReportQuery) {
	q.Accounts = nil
	for _, m := range members {
		if !slices.ContainsFunc(q.Accounts, func(a media.Account) bool { return a.ID == m.account.ID }) {
			q.Accounts = append(q.Accounts, m.account)
		}
	}
	if len(q.Accounts) < 2 {
		return
	}
	got, err := fetchDays(ctx, login, report, q)
	switch {
	case err == nil:
		handOut(got, members)
	case concernsLogin(err):
		for _, m := range members {
			m.answer <- share{err: err}
		}
	case refusesQuery(err):
		half := len(members) / 2
		readJointly(ctx, login, members[:half], report, q)
		readJointly(ctx, login, members[half:], report, q)
	}
}

// handOut gives each member the rows of its account. It gives nothing if the answer is not whole, has values that
// cannot be used, or has rows of other accounts.
func handOut(got fetched, members []member) {
	rows := make(map[string][]media.Row, len(members))
	for _, m := range members {
		rows[m.account.ExternalID] = nil
	}
	for _, row := range got.rows {
		if _, isAsked := rows[row.Account]; !isAsked {
			return
		}
		rows[row.Account] = append(rows[row.Account], row)
	}
	if got.note != "" || len(got.lost) > 0 || len(got.apart) > 0 {
		return
	}
	for _, m := range members {
		m.answer <- share{rows: rows[m.account.ExternalID]}
		delete(rows, m.account.ExternalID) // Another subtask of the same account reads it alone.
	}
}

// concernsLogin reports whether a query of any of the login's accounts would fail in the same way: for a limit, for the
// token, or for a field that the platform does not know.
func concernsLogin(err error) bool {
	if _, ok := errors.AsType[*media.DeferError](err); ok {
		return true
	}
	e, ok := errors.AsType[*media.Error](err)
	return ok && (e.Class == media.Quota || e.Class == media.Auth || e.Field != "")
}

// refusesQuery reports whether the query itself is wrong, which an account may cause.
func refusesQuery(err error) bool {
	if _, ok := errors.AsType[*overCapError](err); ok {
		return true
	}
	e, ok := errors.AsType[*media.Error](err)
	return ok && (e.Class == media.Invalid || e.Class == media.Bug)
}
