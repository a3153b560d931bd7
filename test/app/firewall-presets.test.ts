import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { runCommand } from '../support/command.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { providersAt } from '../support/providers.ts'

const rule = (more: object) =>
  firewallRuleBody({ type: 'preset', pattern: 'card_number', replacement: '[card $0]', ...more })

describe('firewall presets', function () {
  this.timeout(180_000)
  let sandbox: Sandbox
  let gateway: RunningGateway

  before(async () => {
    sandbox = await startSandbox({ record: 1 })
    gateway = await startGateway(providersAt(sandbox, ['openai']))
  })
  after(async () => {
    await gateway?.stop()
    await sandbox?.close()
  })

  it('are listed by the API and by the command line', async () => {
    const { status, body } = await gateway.call('GET', '/v1/firewall-presets')
    expect(status).to.equal(200)
    expect(body.data[0]).to.deep.include({ name: 'card_number', example: '4111 1111 1111 1111' })
    const { code, stdout } = await runCommand(['presets', '--json'])
    expect(code).to.equal(0)
    expect(JSON.parse(stdout)).to.deep.equal(body.data)
    const table = (await runCommand(['presets'])).stdout
    expect(table).to.match(/^NAME +FINDS +ALSO CHECKED\ncard_number {2}/)
  })

  it('are refused if there is none with the name', async () => {
    const { status, body } = await gateway.call('POST', '/v1/firewall-rules', rule({ pattern: 'card' }))
    expect(status).to.equal(400)
    expect(body.error.message).to.contain('pattern').and.contain('card_number, iban')
  })

  it('mask what they find, with a literal replacement, and nothing that fails the checksum', async () => {
    const { body: made } = await gateway.call('POST', '/v1/firewall-rules', rule({}))
    expect(made.data).to.include({ type: 'preset', pattern: 'card_number' })
    const content = 'Pay with 4111 1111 1111 1111, not with 4111 1111 1111 1112.'
    const messages = [{ role: 'user', content }]
    await gateway.call('POST', '/v1/chat/completions', { model: 'gpt-4o', messages })
    expect(JSON.stringify(sandbox.requests.at(-1)?.body)).to.contain(
      'Pay with [card $0], not with 4111 1111 1111 1112.',
    )
  })
})
