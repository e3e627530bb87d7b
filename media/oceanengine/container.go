package oceanengine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"adsync/media"
	"adsync/media/wire"
)

// The endpoints that list the accounts of a container. 2/majordomo/advertiser/select/ and
// v3.0/customer_center/account/list/ also list the accounts of older workbenches, and are not used.
const (
	workbenchEndpoint  = "2/customer_center/advertiser/list/"
	enterpriseEndpoint = "2/ebp/advertiser/list/"
	teamsEndpoint      = "2/ebp/level/get/"
	agentEndpoint      = "2/agent/advertiser/select/"
	childAgentEndpoint = "2/agent/child_agent/select/"
)

const (
	containerPage = 100
	// containerReach is how many accounts of a container have pages.
	containerReach = 10_000
)

// The kinds of accounts that can authorise an app (document 1696710506574848). An advertiser carries ads; the lists
// of containers call it AD_NORMAL. The other kinds here contain advertisers.
var (
	advertisers = []string{"", "ADVERTISER", "AD", "AD_NORMAL", "NORMAL_AD", "NORMAL"}
	workbenches = []string{"CUSTOMER_ADMIN", "CUSTOMER_OPERATOR"}
	agents      = []string{"AGENT", "CHILD_AGENT"}
)

// enterprisePrefix is the prefix of the kinds of the newer workbenches: _ADMIN, _OPERATOR, _CUSTOM.
const enterprisePrefix = "PLATFORM_ROLE_ENTERPRISE_BP_"

// expansion finds the advertisers that a login reaches.
type expansion struct {
	api   media.API
	take  func([]listedAccount) error
	leave func([]media.FoundAccount) error
	seen  map[wire.ID]bool // the accounts found so far, since containers share accounts
}

// all expands the accounts that a login has authorised.
func (x expansion) all(ctx context.Context, authorised []listedAccount) error {
	var containers []listedAccount
	var direct []listedAccount
	for _, a := range authorised {
		if !a.lost && !a.isLost() && !slices.Contains(advertisers, a.role()) {
			containers = append(containers, a)
		} else {
			direct = append(direct, a)
		}
	}
	if err := x.add(direct, ""); err != nil {
		return err
	}
	for _, c := range containers {
		if err := x.expand(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// add adds the advertisers of a list, each once, and leaves out the other accounts. in names the list's container, if
// any, for the reason.
func (x expansion) add(listed []listedAccount, in string) error {
	var taken []listedAccount
	for _, a := range listed {
		if a.lost {
			taken = append(taken, a)
			continue
		}
		if x.seen[a.id()] {
			continue
		}
		x.seen[a.id()] = true
		var err error
		switch {
		case a.isLost():
			err = x.leaveOut(a.id(), "the login no longer manages it, is_valid is false"+in)
		case !slices.Contains(advertisers, a.role()):
			err = x.leaveOut(a.id(), "an account of type "+a.role()+" is not an advertiser"+in)
		default:
			taken = append(taken, a)
		}
		if err != nil {
			return err
		}
	}
	return x.take(taken)
}

func (x expansion) leaveOut(id wire.ID, why string) error {
	return x.leave([]media.FoundAccount{{ExternalID: string(id), LeftOut: why}})
}

// expand adds the advertisers of a container. A container that the platform refuses to list is left out, with the
// reason.
func (x expansion) expand(ctx context.Context, c listedAccount) error {
	role := c.role()
	var err error
	switch {
	case slices.Contains(workbenches, role):
		err = x.pages(ctx, workbenchEndpoint, "list", url.Values{"cc_account_id": {string(c.id())}, "account_source": {"AD"}},
			c)
	case strings.HasPrefix(role, enterprisePrefix):
		err = x.teams(ctx, c)
	case slices.Contains(agents, role):
		err = x.agent(ctx, c)
	default:
		// Stars, shops, brand and local services: their accounts are not advertisers of this platform's marketing API.
		return x.leaveOut(c.id(), "an account of type "+role+" is not an advertiser")
	}
	if e, ok := errors.AsType[*media.Error](err); ok && (e.Class == media.Invalid || e.Class == media.Bug) {
		return x.leaveOut(c.id(), "the platform refuses to list the accounts of this "+role+": "+e.Message)
	}
	return err
}

// pages adds the accounts of a list with numbered pages.
func (x expansion) pages(ctx context.Context, endpoint, rows string, query url.Values, of listedAccount) error {
	numbered := media.Numbered{Endpoint: endpoint, Size: containerPage, Reach: containerReach, Rows: rows}
	var raws []json.RawMessage
	total := 0
	for page := ""; ; {
		out, err := numbered.Page(ctx, x.api, page, query, func(p *media.Page, raw json.RawMessage) {
			raws, p.Counted = append(raws, raw), append(p.Counted, "")
		})
		if err != nil {
			return err
		}
		if page != "" && out.Total != total || out.Moved != "" {
			return moved(endpoint)
		}
		if total, page = out.Total, out.Next; page == "" {
			break
		}
	}
	listed := readListed(raws)
	if distinct(listed) != min(total, containerReach) {
		return moved(endpoint)
	}
	if err := x.add(listed, " of its "+of.role()); err != nil {
		return err
	}
	if total > containerReach {
		return x.leaveOut(of.id(), fmt.Sprintf("the platform lists %d of the %d accounts of this %s", containerReach, total,
			of.role()))
	}
	return nil
}

// distinct returns the number of different accounts in a list.
func distinct(listed []listedAccount) int {
	ids, lost := map[wire.ID]bool{}, 0
	for _, a := range listed {
		if a.lost {
			lost++
			continue
		}
		ids[a.id()] = true
	}
	return len(ids) + lost
}

// moved returns the error of a list whose accounts changed while its pages were read: it may lack some.
func moved(endpoint string) error {
	return &media.Error{Class: media.Transient, Message: endpoint +
		": accounts were added or removed while the pages were read"}
}

// teams adds the accounts of a newer workbench and of its teams: each list has only the accounts attached directly
// (documents 1829550825614739 and 1829551362400384).
func (x expansion) teams(ctx context.Context, c listedAccount) error {
	data, err := x.api.Get(ctx, teamsEndpoint, url.Values{"enterprise_organization_id": {string(c.id())}})
	if err != nil {
		return err
	}
	root, err := x.open(data)
	if err != nil {
		return err
	}
	list := func(id string) error {
		return x.pages(ctx, enterpriseEndpoint, "account_list",
			url.Values{"enterprise_organization_id": {id}, "account_source": {"AD"}}, c)
	}
	if err := list(string(c.id())); err != nil {
		return err
	}
	return x.below(root, list)
}

// below lists the accounts of all teams below a workbench or a team. Unreadable teams are reported as lost.
func (x expansion) below(of *wire.Row, list func(id string) error) error {
	teams, err := x.listIn(of, "sub_team")
	if err != nil {
		return err
	}
	for _, raw := range teams {
		team := wire.Open(raw)
		id := team.KeyNumber("team_id")
		if team.Lost() {
			err = x.lose(team.JSON(), "team_id", team.Faults()[0].Why)
		} else {
			err = list(id)
		}
		if err == nil {
			err = x.below(team, list)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// open reads the answer for a container.
func (x expansion) open(data json.RawMessage) (*wire.Row, error) {
	answer := wire.Open(data)
	if answer.Lost() && len(data) > 0 && string(data) != "null" {
		return answer, x.lose(data, "data", answer.Faults()[0].Why)
	}
	return answer, nil
}

// listIn returns a list of a container's answer. An unreadable list is reported as lost.
func (x expansion) listIn(of *wire.Row, field string) ([]json.RawMessage, error) {
	before := len(of.Faults())
	list := of.List(field)
	if bad := of.Faults()[before:]; len(bad) > 0 {
		return nil, x.lose(of.JSON(), field, bad[0].Why)
	}
	return list, nil
}

// lose reports that accounts are lost because a key of a container is unusable: then no account is treated as gone.
func (x expansion) lose(row json.RawMessage, field, why string) error {
	return x.leave([]media.FoundAccount{{Lost: true, JSON: row,
		Faults: []wire.Fault{{Field: field, Kind: wire.KeyFault, Why: why}}}})
}

// agent adds the advertisers of an agency and of the agencies below it (document 1696710516003852).
func (x expansion) agent(ctx context.Context, c listedAccount) error {
	ids := []wire.ID{c.id()}
	if c.role() == "AGENT" {
		below, err := x.childAgents(ctx, c.id())
		if err != nil {
			return err
		}
		ids = append(ids, below...)
	}
	for _, id := range ids {
		if err := x.clients(ctx, id, c); err != nil {
			return err
		}
	}
	return nil
}

func (x expansion) childAgents(ctx context.Context, agent wire.ID) (ids []wire.ID, err error) {
	// The answer has no total: a page that is not full is the last.
	for page := 1; ; page++ {
		data, err := x.api.Get(ctx, childAgentEndpoint, url.Values{
			"advertiser_id": {string(agent)}, "page": {strconv.Itoa(page)}, "page_size": {strconv.Itoa(containerPage)},
		})
		if err != nil {
			return nil, err
		}
		answer, err := x.open(data)
		if err != nil {
			return nil, err
		}
		rows, err := x.listIn(answer, "child_agent_ids")
		if err != nil {
			return nil, err
		}
		for _, a := range readIDs(rows) {
			if !a.lost {
				ids = append(ids, a.id())
			} else if err := x.lose(a.raw, "child_agent_ids", a.faults[0].Why); err != nil {
				return nil, err
			}
		}
		if len(rows) < containerPage || page*containerPage >= containerReach {
			return ids, nil
		}
	}
}

// clients adds the advertisers of one agency. It pages by cursor, which has no limit of 10,000.
func (x expansion) clients(ctx context.Context, id wire.ID, c listedAccount) error {
	var listed []listedAccount
	for cursor := ""; ; {
		query := url.Values{"advertiser_id": {string(id)}, "count": {strconv.Itoa(containerPage)}}
		if cursor != "" { // The first call has none.
			query.Set("cursor", cursor)
		}
		data, err := x.api.Get(ctx, agentEndpoint, query)
		if err != nil {
			return err
		}
		answer, err := x.open(data)
		if err != nil {
			return err
		}
		rows, err := x.listIn(answer, "list")
		if err != nil {
			return err
		}
		page, source, info := readIDs(rows), answer.Text("account_source"), answer.In("cursor_page_info")
		total, next := info.Int("total_number"), wire.String(info.Fields()["cursor"])
		for i := range page {
			page[i].AccountType = source
		}
		if len(page) > 0 {
			page[0].faults = append(page[0].faults, answer.Faults()...)
		}
		listed = append(listed, page...)
		switch hasMore := wire.Flag(info.Fields()["has_more"]); {
		case hasMore && (next == "" || next == cursor):
			return moved(agentEndpoint)
		case hasMore:
			cursor = next
		case total.Set && distinct(listed) != int(total.Value):
			return moved(agentEndpoint)
		default:
			return x.add(listed, " of its "+c.role())
		}
	}
}

// readIDs reads a list that has only ids.
func readIDs(ids []json.RawMessage) []listedAccount {
	rows := make([]json.RawMessage, len(ids))
	for i, id := range ids {
		rows[i] = slices.Concat([]byte(`{"account_id":`), id, []byte("}"))
	}
	return readListed(rows)
}
