package dictionary

import (
	"adsync/base/store/summaries"
)

var wideHead = ticked(`
## The wide table

^wide_daily^ holds the figures above by day, account, level and object, as ^report_daily^ does. It also has the
object's name and parents (^campaign_id^, ^campaign_name^, ^adgroup_id^ … ^creative_name^), the account's game and os
of the day, and the figures of the business's own database. NULL in an id or a name means that there is none, or that
it is not known. The views ^wide_daily_account^ and so on hold one level each.

The business's own figures are copied unchanged into ^partner_daily^, and added up here: an object's figures are those
of its own rows and of everything that belongs to it. Their money is in millionths of the account's currency. NULL
means that there is no figure, or not yet.

| wide_daily | partner_daily | meaning |
|---|---|---|
`)

var partnerMeanings = map[string]string{
	"new_users":       "users who came for the first time",
	"returning_users": "users who came before that day too",
	"pay_amount_d1":   "money that the day's new users paid on that day",
	"pay_amount_d3":   "money that they paid within 3 days",
	"pay_amount_d7":   "money that they paid within 7 days",
	"pay_amount_d14":  "money that they paid within 14 days",
	"pay_amount_d30":  "money that they paid within 30 days",
}

// wide writes what the wide table holds in addition to the platforms' figures.
func (p *printer) wide() {
	p.print("%s", wideHead)
	for _, name := range summaries.PartnerFigures {
		p.print("| `partner_%s` | `%s` | %s |\n", name, name, partnerMeanings[name])
	}
}
