import { expect } from 'chai'
import { chatBody, firewallRuleBody } from '../support/bodies.ts'
import { startGatewayProcess } from '../support/gateway-process.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

/** RE2 runs this for more than ten seconds on a megabyte, and cannot be interrupted. */
const STUCK = { type: 'regex', pattern: '/[ab]{1000}[ab]{1000}c/', action: 'block' }

const IMPATIENT =
  'plugins: { remove: [firewall], add: [{ use: firewall, before: routing, options: { cpu_ms: 10 } }] }'

const noise = (length: number) =>
  Array.from({ length: length / 10 }, (_, n) => ((n * 2654435761) >>> 22).toString(2).padStart(10, '0'))
    .join('')
    .replaceAll('0', 'a')
    .replaceAll('1', 'b')

describe('a gateway in which RE2 is stuck', () => {
  it('ends when it is stopped, not when RE2 is done', async () => {
    const gateway = await startGatewayProcess(await withSettings(UNLIMITED + IMPATIENT))
    await gateway.call('POST', '/v1/firewall-rules', firewallRuleBody(STUCK))
    const refused = await gateway.call('POST', '/v1/chat/completions', chatBody(noise(1_000_000)))
    expect(refused.headers.get('x-error-code')).to.equal('firewall_timeout')
    await gateway.stop()
    const { exitCode, signalCode } = gateway.process
    expect(exitCode ?? signalCode).to.equal('SIGTERM')
  })
})
