package simulator

import "slices"

// How a login has authorised its accounts: each one, or a container that holds them. Small worlds have one login of each platform, which
// authorises its accounts; of the logins of larger ones, four of five authorise a container.
const (
	holdsNothing    = iota
	holdsEnterprise // a newer workbench with a team, and a team of that
	holdsAgent      // an agency with another below it
	holdsWorkbench
	holdsStars // accounts, beside one that is no advertiser
)

func holds(l *login) int { return l.index % 5 }

const (
	workbenchList   = "2/customer_center/advertiser/list/"
	enterpriseList  = "2/ebp/advertiser/list/"
	enterpriseTeams = "2/ebp/level/get/"
	agentList       = "2/agent/advertiser/select/"
	childAgentList  = "2/agent/child_agent/select/"
)

// containerBase is below the ids of containers and of what else is no advertiser.
const containerBase = 1_690_000_000_000_000

// container is the n-th one of a login: the first is what it has authorised, the others are below that.
func container(l *login, n int64) int64 { return containerBase + int64(l.index)*1000 + n }

// The places of what is below a login's container.
const (
	firstTeam, secondTeam = 1, 2
	childAgent            = 1
	localAccount          = 900
	starAccount           = 901
)

// oceanListed is an account in a list.
type oceanListed struct {
	id      int64
	name    string
	kind    string
	isValid bool
}

// accounts are the n-th of several parts of a login's accounts.
func (o *oceanEngine) accounts(c *call, l *login, n, parts int) (list []oceanListed) {
	size := l.last - l.first
	for i := l.first + size*n/parts; i < l.first+size*(n+1)/parts; i++ {
		a := c.sim.world.account(o.about, i)
		list = append(list, oceanListed{a.id, a.name(), "ADVERTISER", c.sim.world.closed(&a) != lifeRevoked})
	}
	return list
}

// authorised is what a login has authorised, in the platform's words (document 1696710506574848).
func (o *oceanEngine) authorised(c *call, l *login) []oceanListed {
	authorised := func(kind string) []oceanListed { return []oceanListed{{container(l, 0), l.name(), kind, true}} }
	switch holds(l) {
	case holdsEnterprise:
		return authorised("PLATFORM_ROLE_ENTERPRISE_BP_ADMIN")
	case holdsAgent:
		return authorised("AGENT")
	case holdsWorkbench:
		return authorised("CUSTOMER_ADMIN")
	case holdsStars:
		return append(o.accounts(c, l, 0, 1), oceanListed{container(l, starAccount), "星图", "PLATFORM_ROLE_STAR", true})
	}
	return o.accounts(c, l, 0, 1)
}

// advertisers lists what a token's login has authorised. One that the login has lost is told as not valid.
func (o *oceanEngine) advertisers(c *call, l *login) *apiError {
	w := o.begin(c)
	w.open('{')
	w.openArray("list")
	for _, x := range o.authorised(c, l) {
		w.open('{')
		w.numberField("advertiser_id", x.id)
		w.textField("advertiser_name", x.name)
		w.numberField("advertiser_role", 1)
		w.textField("account_role", x.kind)
		w.textField("account_type", x.kind)
		w.numberField("account_id", x.id)
		w.textField("account_name", x.name)
		w.textField("account_string_id", objectText(x.id))
		w.key("is_valid")
		w.flag(x.isValid)
		w.openArray("company_list")
		w.close(']')
		w.close('}')
	}
	w.close(']')
	w.close('}')
	o.end(c, &w)
	return nil
}

// containerOf finds which of a login's containers of a kind a call is about.
func (o *oceanEngine) containerOf(c *call, l *login, kind int, parameter string, most int64) (n int64, _ *apiError) {
	id := c.query.Get(parameter)
	for n := range most + 1 {
		if holds(l) == kind && id == objectText(container(l, n)) {
			return n, nil
		}
	}
	return 0, failure(40002, "%s %q", parameter, id)
}

// attached are the accounts that a list of a container has: valid ones of the source that is asked for.
func (o *oceanEngine) attached(c *call, l *login, n, parts int, source string) ([]oceanListed, *apiError) {
	if n == 0 && source == "LOCAL" {
		return []oceanListed{{container(l, localAccount), "本地推", "LOCAL", true}}, nil
	}
	if !slices.Contains([]string{"", "AD", "LOCAL", "QIANCHUAN"}, source) {
		return nil, failure(40000, "account_source %q", source)
	}
	if source == "LOCAL" || source == "QIANCHUAN" {
		return nil, nil
	}
	return slices.DeleteFunc(o.accounts(c, l, n, parts), func(x oceanListed) bool { return !x.isValid }), nil
}

// writeAttached writes a page of a container's accounts.
func (o *oceanEngine) writeAttached(c *call, rows string, list []oceanListed, write func(w *jsonWriter, x oceanListed)) *apiError {
	page, err := o.integer(c, "page", 1, 99_999)
	if err != nil {
		return err
	}
	size, err := o.integer(c, "page_size", 10, 100)
	if err != nil {
		return err
	}
	if page*size > oceanListMax {
		return failure(40000, "pages reach up to %d accounts", oceanListMax)
	}
	from, to, total := c.pageOf(page, size, len(list))
	w := o.begin(c)
	w.open('{')
	w.openArray(rows)
	for _, x := range list[from:to] {
		w.open('{')
		write(&w, x)
		w.close('}')
	}
	w.close(']')
	w.pageInfo(page, size, total)
	w.close('}')
	o.end(c, &w)
	return nil
}

func (o *oceanEngine) workbench(c *call, l *login) *apiError {
	if _, err := o.containerOf(c, l, holdsWorkbench, "cc_account_id", 0); err != nil {
		return err
	}
	list, err := o.attached(c, l, 0, 1, c.query.Get("account_source"))
	if err != nil {
		return err
	}
	return o.writeAttached(c, "list", list, func(w *jsonWriter, x oceanListed) {
		w.numberField("advertiser_id", x.id)
		w.textField("advertiser_name", x.name)
		w.textField("advertiser_type", "NORMAL")
	})
}

// enterprise lists what is attached to a newer workbench, or to one of its teams, directly (document 1829550825614739).
func (o *oceanEngine) enterprise(c *call, l *login) *apiError {
	n, err := o.containerOf(c, l, holdsEnterprise, "enterprise_organization_id", secondTeam)
	if err != nil {
		return err
	}
	list, err := o.attached(c, l, int(n), secondTeam+1, c.query.Get("account_source"))
	if err != nil {
		return err
	}
	return o.writeAttached(c, "account_list", list, func(w *jsonWriter, x oceanListed) {
		w.numberField("account_id", x.id)
		w.textField("account_type", map[string]string{"ADVERTISER": "AD_NORMAL", "LOCAL": "LOCAL"}[x.kind])
		w.textField("account_name", x.name)
	})
}

// teams tells the tree of a newer workbench (document 1829551362400384).
func (o *oceanEngine) teams(c *call, l *login) *apiError {
	if _, err := o.containerOf(c, l, holdsEnterprise, "enterprise_organization_id", 0); err != nil {
		return err
	}
	w := o.begin(c)
	w.open('{')
	for _, n := range []int64{firstTeam, secondTeam} {
		w.openArray("sub_team")
		w.open('{')
		w.numberField("team_id", container(l, n))
		w.textField("team_name", l.name())
	}
	w.openArray("sub_team")
	w.close(']')
	for range secondTeam {
		w.close('}')
		w.close(']')
	}
	w.close('}')
	o.end(c, &w)
	return nil
}

// agent lists an agency's clients, ids alone: by number, or by a cursor that is left out at first (document 1696710516003852).
func (o *oceanEngine) agent(c *call, l *login) *apiError {
	n, err := o.containerOf(c, l, holdsAgent, "advertiser_id", childAgent)
	if err != nil {
		return err
	}
	list, err := o.attached(c, l, int(n), childAgent+1, "AD")
	if err != nil {
		return err
	}
	if c.query.Get("count") == "" && c.query.Get("cursor") == "" {
		return o.writeClients(c, list, false)
	}
	return o.writeClients(c, list, true)
}

func (o *oceanEngine) writeClients(c *call, list []oceanListed, byCursor bool) *apiError {
	page, err := o.integer(c, "page", 1, 99_999)
	if err != nil {
		return err
	}
	size, err := o.integer(c, "page_size", 100, 1000)
	if err != nil {
		return err
	}
	from, to := pageOf(page, size, len(list))
	if byCursor {
		if size, err = o.integer(c, "count", 100, 1000); err != nil {
			return err
		}
		if _, err := o.decode(c, "cursor", &from); err != nil {
			return err
		}
		from = min(max(from, 0), len(list))
		to = min(from+size, len(list))
	} else if page*size > oceanListMax {
		return failure(40000, "pages reach up to %d clients: use the cursor", oceanListMax)
	}
	w := o.begin(c)
	w.open('{')
	w.openArray("list")
	for _, x := range list[from:to] {
		w.number(x.id)
	}
	w.close(']')
	w.textField("account_source", "AD")
	if byCursor {
		w.openObject("cursor_page_info")
		w.numberField("total_number", int64(len(list)))
		w.key("has_more")
		w.flag(to < len(list))
		w.numberField("count", int64(to-from))
		w.numberField("cursor", int64(to))
		w.close('}')
	} else {
		w.pageInfo(page, size, len(list))
	}
	w.close('}')
	o.end(c, &w)
	return nil
}

func (o *oceanEngine) childAgents(c *call, l *login) *apiError {
	if _, err := o.containerOf(c, l, holdsAgent, "advertiser_id", 0); err != nil {
		return err
	}
	w := o.begin(c)
	w.open('{')
	w.openArray("child_agent_ids")
	if c.query.Get("page") == "" || c.query.Get("page") == "1" {
		w.number(container(l, childAgent))
	}
	w.close(']')
	w.close('}')
	o.end(c, &w)
	return nil
}
