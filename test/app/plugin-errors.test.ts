import { expect } from 'chai'
import { findErrorDefinition } from '../../core/contract/error-codes.ts'
import { chatBody } from '../support/bodies.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { startWithPlugins } from '../support/plugins.ts'
import { receivedText } from '../support/streams.ts'

/** Refuses requests with codes of its own; the header `x-form` says how it makes the error. */
const CARDS = `import { GatewayError } from 'signalbox'
const message = 'The text contains a card number.'
const DETAILS = { param: 'messages', retryAfter: 7 }
const FORMS = {
  code: () => new GatewayError('card_number', message, DETAILS),
  object: () =>
    new GatewayError({ code: 'card_number', status: 422, type: 'validation_error', message, ...DETAILS }),
  status: () => new GatewayError('card_number', message, { status: 451 }),
  undeclared: () => new GatewayError('bank_account', message),
  inherited: () => new GatewayError('constructor', message),
}
const fail = ({ headers }, phase) => {
  const form = FORMS[headers['x-form']]
  if (form !== undefined && headers['x-phase'] === phase) throw form()
}
export default {
  name: 'cards',
  contract: 3,
  setup: () => ({
    errorCodes: { card_number: { status: 422, type: 'validation_error', description: 'A card number.' } },
    admit: (request) => fail(request, 'admit'),
    decide: (exchange) => fail(exchange, 'decide'),
    inspect: (exchange) => ({
      transform(event) { fail(exchange, 'inspect'); return [event] },
    }),
    endpoints: [{
      method: 'GET', path: '/v1/cards', access: { type: 'user' }, operationId: 'readCards', summary: 'Cards.',
      tags: [], responses: { 200: { description: 'Cards.' } }, errors: ['card_number'],
      handle: (call) => { fail(call, 'endpoint'); return { status: 200, body: {} } },
    }],
  }),
}`

describe('an error with a code that a plugin declares', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startWithPlugins({ cards: CARDS }, { add: [{ use: 'cards', before: 'dispatch' }] })
  })
  after(async () => {
    await gateway.stop()
    // Another gateway in this process must not accept it.
    expect(findErrorDefinition('card_number')).to.equal(undefined)
  })

  const fail = (phase: string, form: string) => {
    const headers = { authorization: `Bearer ${gateway.demoKey}`, 'x-form': form, 'x-phase': phase }
    return phase === 'endpoint'
      ? gateway.call('GET', '/v1/cards', undefined, headers)
      : gateway.call('POST', '/v1/chat/completions', chatBody('hello'), headers)
  }

  for (const phase of ['admit', 'decide', 'inspect', 'endpoint']) {
    it(`is answered with the status and type of its code, thrown in ${phase}`, async () => {
      const answers = [await fail(phase, 'code'), await fail(phase, 'object')]
      for (const { status, headers, body } of answers) {
        expect(status).to.equal(422)
        expect(headers.get('x-error-code')).to.equal('card_number')
        expect(headers.get('retry-after')).to.equal('7')
        expect(body.error).to.include({
          message: 'The text contains a card number.',
          type: 'validation_error',
          param: 'messages',
          http_status: 422,
        })
      }
    })
  }

  it('ends a stream with the code', async () => {
    const headers = {
      ...{ authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
      ...{ 'x-form': 'code', 'x-phase': 'inspect' },
    }
    const body = JSON.stringify(chatBody('hello', { stream: true }))
    const response = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body })
    expect(await receivedText(response))
      .to.contain('"code":"card_number"')
      .and.contain('"http_status":422')
  })

  it('may have another status', async () => {
    const { status, headers } = await fail('decide', 'status')
    expect([status, headers.get('x-error-code')]).to.deep.equal([451, 'card_number'])
  })

  it('is a failure of the gateway if no plugin declares the code', async () => {
    for (const [form, code] of [
      ['undeclared', 'bank_account'],
      ['inherited', 'constructor'],
    ] as const) {
      const { status, headers, body } = await fail('decide', form)
      expect([status, headers.get('x-error-code')]).to.deep.equal([500, 'internal_error'])
      expect(JSON.stringify(body)).not.to.contain('card')
      await gateway.wrote(`\\"${code}\\" is not an error code of the gateway or of a plugin`)
    }
  })
})
