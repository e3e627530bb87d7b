package oceanengine

import (
	"slices"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// How a login has authorised its accounts: each account, or a container that holds them. A small world has one login
// of each platform, which authorises its accounts. In larger worlds four of five logins authorise a container.
const (
	holdsNothing    = iota
	holdsEnterprise // a newer workbench with a team that has a team
	holdsAgent      // an agency with another below it
	holdsWorkbench
	holdsStars // accounts, and one that is not an advertiser
)

func holds(l *world.Login) int { return l.Index % 5 }

const (
	workbenchList   = "2/customer_center/advertiser/list/"
	enterpriseList  = "2/ebp/advertiser/list/"
	enterpriseTeams = "2/ebp/level/get/"
	agentList       = "2/agent/advertiser/select/"
	childAgentList  = "2/agent/child_agent/select/"
)

// containerBase is below the ids of containers and of other accounts that are not advertisers.
const containerBase = 1_690_000_000_000_000

// container returns the id of a login's n-th container: the first is authorised, the others are below it.
func container(l *world.Login, n int64) int64 { return containerBase + int64(l.Index)*1000 + n }

// The numbers of the containers below a login's container.
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

// accounts returns the n-th of several parts of a login's accounts.
func (o *oceanEngine) accounts(c *platform.Call, l *world.Login, n, parts int) (list []oceanListed) {
	size := l.Last - l.First
	for i := l.First + size*n/parts; i < l.First+size*(n+1)/parts; i++ {
		a := c.Sim.World.Account(o.about, i)
		list = append(list, oceanListed{a.ID, a.Name(), "ADVERTISER", c.Sim.World.Closed(&a) != world.LifeRevoked})
	}
	return list
}

// authorised returns the accounts that a login has authorised, with the platform's names (document 1696710506574848).
func (o *oceanEngine) authorised(c *platform.Call, l *world.Login) []oceanListed {
	authorised := func(kind string) []oceanListed { return []oceanListed{{container(l, 0), l.Name(), kind, true}} }
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

// advertisers lists the accounts that a token's login has authorised. A lost account is listed as not valid.
func (o *oceanEngine) advertisers(c *platform.Call, l *world.Login) *platform.Failure {
	w := o.begin(c)
	w.Open('{')
	w.OpenArray("list")
	for _, x := range o.authorised(c, l) {
		w.Open('{')
		w.NumberField("advertiser_id", x.id)
		w.TextField("advertiser_name", x.name)
		w.NumberField("advertiser_role", 1)
		w.TextField("account_role", x.kind)
		w.TextField("account_type", x.kind)
		w.NumberField("account_id", x.id)
		w.TextField("account_name", x.name)
		w.TextField("account_string_id", world.ObjectText(x.id))
		w.Key("is_valid")
		w.Flag(x.isValid)
		w.OpenArray("company_list")
		w.Close(']')
		w.Close('}')
	}
	w.Close(']')
	w.Close('}')
	o.end(c, &w)
	return nil
}

// containerOf returns which of a login's containers of a kind a call names.
func containerOf(c *platform.Call, l *world.Login, kind int, parameter string, most int64) (n int64,
	_ *platform.Failure) {
	id := c.Query.Get(parameter)
	for n := range most + 1 {
		if holds(l) == kind && id == world.ObjectText(container(l, n)) {
			return n, nil
		}
	}
	return 0, platform.Failf(40002, "%s %q", parameter, id)
}

// attached returns the accounts in a list of a container: the valid ones of the requested source.
func (o *oceanEngine) attached(c *platform.Call, l *world.Login, n, parts int, source string) ([]oceanListed,
	*platform.Failure) {
	if n == 0 && source == "LOCAL" {
		return []oceanListed{{container(l, localAccount), "本地推", "LOCAL", true}}, nil
	}
	if !slices.Contains([]string{"", "AD", "LOCAL", "QIANCHUAN"}, source) {
		return nil, platform.Failf(40000, "account_source %q", source)
	}
	if source == "LOCAL" || source == "QIANCHUAN" {
		return nil, nil
	}
	return slices.DeleteFunc(o.accounts(c, l, n, parts), func(x oceanListed) bool { return !x.isValid }), nil
}

// writeAttached writes a page of a container's accounts.
func (o *oceanEngine) writeAttached(c *platform.Call, rows string, list []oceanListed,
	write func(w *platform.Writer, x oceanListed)) *platform.Failure {
	page, err := integer(c, "page", 1, 99_999)
	if err != nil {
		return err
	}
	size, err := integer(c, "page_size", 10, 100)
	if err != nil {
		return err
	}
	if page*size > oceanListMax {
		return platform.Failf(40000, "pages reach up to %d accounts", oceanListMax)
	}
	from, to, total := c.PageOf(page, size, len(list))
	w := o.begin(c)
	w.Open('{')
	w.OpenArray(rows)
	for _, x := range list[from:to] {
		w.Open('{')
		write(&w, x)
		w.Close('}')
	}
	w.Close(']')
	w.PageInfo(page, size, total)
	w.Close('}')
	o.end(c, &w)
	return nil
}

func (o *oceanEngine) workbench(c *platform.Call, l *world.Login) *platform.Failure {
	if _, err := containerOf(c, l, holdsWorkbench, "cc_account_id", 0); err != nil {
		return err
	}
	list, err := o.attached(c, l, 0, 1, c.Query.Get("account_source"))
	if err != nil {
		return err
	}
	return o.writeAttached(c, "list", list, func(w *platform.Writer, x oceanListed) {
		w.NumberField("advertiser_id", x.id)
		w.TextField("advertiser_name", x.name)
		w.TextField("advertiser_type", "NORMAL")
	})
}

// enterprise lists the accounts attached directly to a newer workbench or to one of its teams (document
// 1829550825614739).
func (o *oceanEngine) enterprise(c *platform.Call, l *world.Login) *platform.Failure {
	n, err := containerOf(c, l, holdsEnterprise, "enterprise_organization_id", secondTeam)
	if err != nil {
		return err
	}
	list, err := o.attached(c, l, int(n), secondTeam+1, c.Query.Get("account_source"))
	if err != nil {
		return err
	}
	return o.writeAttached(c, "account_list", list, func(w *platform.Writer, x oceanListed) {
		w.NumberField("account_id", x.id)
		w.TextField("account_type", map[string]string{"ADVERTISER": "AD_NORMAL", "LOCAL": "LOCAL"}[x.kind])
		w.TextField("account_name", x.name)
	})
}

// teams returns the tree of a newer workbench (document 1829551362400384).
func (o *oceanEngine) teams(c *platform.Call, l *world.Login) *platform.Failure {
	if _, err := containerOf(c, l, holdsEnterprise, "enterprise_organization_id", 0); err != nil {
		return err
	}
	w := o.begin(c)
	w.Open('{')
	for _, n := range []int64{firstTeam, secondTeam} {
		w.OpenArray("sub_team")
		w.Open('{')
		w.NumberField("team_id", container(l, n))
		w.TextField("team_name", l.Name())
	}
	w.OpenArray("sub_team")
	w.Close(']')
	for range secondTeam {
		w.Close('}')
		w.Close(']')
	}
	w.Close('}')
	o.end(c, &w)
	return nil
}

// agent lists the ids of an agency's clients: by number, or by a cursor that the first call omits (document
// 1696710516003852).
func (o *oceanEngine) agent(c *platform.Call, l *world.Login) *platform.Failure {
	n, err := containerOf(c, l, holdsAgent, "advertiser_id", childAgent)
	if err != nil {
		return err
	}
	list, err := o.attached(c, l, int(n), childAgent+1, "AD")
	if err != nil {
		return err
	}
	if c.Query.Get("count") == "" && c.Query.Get("cursor") == "" {
		return o.writeClients(c, list, false)
	}
	return o.writeClients(c, list, true)
}

func (o *oceanEngine) writeClients(c *platform.Call, list []oceanListed, byCursor bool) *platform.Failure {
	page, err := integer(c, "page", 1, 99_999)
	if err != nil {
		return err
	}
	size, err := integer(c, "page_size", 100, 1000)
	if err != nil {
		return err
	}
	from, to := platform.PageOf(page, size, len(list))
	if byCursor {
		if size, err = integer(c, "count", 100, 1000); err != nil {
			return err
		}
		if _, err := decode(c, "cursor", &from); err != nil {
			return err
		}
		from = min(max(from, 0), len(list))
		to = min(from+size, len(list))
	} else if page*size > oceanListMax {
		return platform.Failf(40000, "pages reach up to %d clients: use the cursor", oceanListMax)
	}
	w := o.begin(c)
	w.Open('{')
	w.OpenArray("list")
	for _, x := range list[from:to] {
		w.Number(x.id)
	}
	w.Close(']')
	w.TextField("account_source", "AD")
	if byCursor {
		w.OpenObject("cursor_page_info")
		w.NumberField("total_number", int64(len(list)))
		w.Key("has_more")
		w.Flag(to < len(list))
		w.NumberField("count", int64(to-from))
		w.NumberField("cursor", int64(to))
		w.Close('}')
	} else {
		w.PageInfo(page, size, len(list))
	}
	w.Close('}')
	o.end(c, &w)
	return nil
}

func (o *oceanEngine) childAgents(c *platform.Call, l *world.Login) *platform.Failure {
	if _, err := containerOf(c, l, holdsAgent, "advertiser_id", 0); err != nil {
		return err
	}
	w := o.begin(c)
	w.Open('{')
	w.OpenArray("child_agent_ids")
	if c.Query.Get("page") == "" || c.Query.Get("page") == "1" {
		w.Number(container(l, childAgent))
	}
	w.Close(']')
	w.Close('}')
	o.end(c, &w)
	return nil
}
