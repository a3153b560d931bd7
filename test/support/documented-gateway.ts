import { type RunningGateway, startGateway } from './gateway.ts'
import { withSettings } from './settings.ts'

/** Settings with an alert, which sends nothing. */
export const ALERTS = `alerts: [{ when: provider_down, to: [{ email: ops@example.com }] }]
smtp: { host: 127.0.0.1, from: signalbox@example.com }
`

/** These and a list of prices on this machine. */
export const DOCUMENTED = `${ALERTS}price_list: config/models.yaml
`

/** Starts a gateway with all endpoints of the default plugins: those of alerts need an alert. */
export async function startDocumentedGateway(): Promise<RunningGateway> {
  return startGateway(await withSettings(DOCUMENTED))
}
