package dictionary

import (
	"adsync/base/store/summaries"
)

const wideHead = `
## The wide table

` + "`wide_daily`" + ` holds the figures above by day, account, level and object, as ` + "`report_daily`" +
	` does, beside what the object is called
and belongs to (` + "`campaign_id`, `campaign_name`, `adgroup_id` … `creative_name`" +
	`), the account's game and os of the day, and what the business's own database tells of it.
NULL in an id or a name says that there is none, or that it is not known. The views ` + "`wide_daily_account`" +
	` and so on hold one level each.

The business's own figures are copied into ` + "`partner_daily`" +
	` as they are there, and added up here: an object's are those of its own rows and of all that
belongs to it. Their money is in millionths of the account's currency. NULL says that nothing is told, or not yet.

| wide_daily | partner_daily | meaning |
|---|---|---|
`

var partnerMeanings = map[string]string{
	"new_users":       "users who came for the first time",
	"returning_users": "users who had come before",
	"pay_amount_d1":   "money that the day's new users paid on that day",
	"pay_amount_d3":   "money that they paid within 3 days",
	"pay_amount_d7":   "money that they paid within 7 days",
	"pay_amount_d14":  "money that they paid within 14 days",
	"pay_amount_d30":  "money that they paid within 30 days",
}

// wide writes what the wide table holds beside the platforms' figures.
func (p *printer) wide() {
	p.print(wideHead)
	for _, name := range summaries.PartnerFigures {
		p.print("| `partner_%s` | `%s` | %s |\n", name, name, partnerMeanings[name])
	}
}
