package dictionary

import (
	"adsync/base/store/summaries"
)

const wideHead = `
## The wide table

` + "`wide_daily`" + ` holds the figures above by day, account, level and object, as ` + "`report_daily`" +
	` does, with the names and ids of the object
and of those above it (` + "`campaign_id`, `campaign_name`, `adgroup_id` … `creative_name`" +
	`), the account's game and os of the day, and the figures of the business's own database.
NULL in an id or a name means that there is none, or that it is unknown. The views ` + "`wide_daily_account`" +
	` and so on hold one level each.

The business's own figures are copied into ` + "`partner_daily`" +
	` unchanged, and added up here: an object's figures are those of its own rows and of all objects
below it. Their money is in millionths of the account's currency. NULL means that there is no figure, or none yet.

| wide_daily | partner_daily | meaning |
|---|---|---|
`

var partnerMeanings = map[string]string{
	"new_users":       "users who came for the first time",
	"returning_users": "users who came before that day too",
	"pay_amount_d1":   "money that the day's new users paid on that day",
	"pay_amount_d3":   "money that they paid within 3 days",
	"pay_amount_d7":   "money that they paid within 7 days",
	"pay_amount_d14":  "money that they paid within 14 days",
	"pay_amount_d30":  "money that they paid within 30 days",
}

// wide writes the columns of the wide table that are not platforms' figures.
func (p *printer) wide() {
	p.print(wideHead)
	for _, name := range summaries.PartnerFigures {
		p.print("| `partner_%s` | `%s` | %s |\n", name, name, partnerMeanings[name])
	}
}
