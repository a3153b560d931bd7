import { expect } from 'chai'
import type { Sandbox } from '../../providers/sandbox/server.ts'
import { DIALECTS } from '../support/dialects.ts'
import type { Answer, RunningGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { asAdmin, firewallRule, type NewPolicy, newPolicy, routingRule } from '../support/policies.ts'
import { useSandboxGateway } from '../support/sandbox-gateway.ts'

const mask = (pattern: string, replacement: string | null, more: object = {}) =>
  firewallRule({ action: 'mask', pattern, replacement, ...more })

/** A Visa number that a mask of `~~` by nothing puts together. */
const DIVIDED_CARD = '4111~~1111~~1111~~1111'

const image = (url: string) => ({ type: 'image_url', image_url: { url } })
const file = (text: string) => ({
  type: 'file',
  file: { filename: 'a.txt', file_data: `data:text/plain;base64,${Buffer.from(text).toString('base64')}` },
})
const system = (...texts: string[]) => [
  ...texts.map((content) => ({ role: 'system', content })),
  { role: 'user', content: 'hi' },
]
const users = (...texts: string[]) => texts.map((content) => ({ role: 'user', content }))

describe('what a policy forbids is forbidden in what is sent', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway
  let user: TestUser
  const cleanups: (() => Promise<unknown>)[] = []

  useSandboxGateway(1, (...started) => {
    ;[sandbox, gateway] = started
  })
  beforeEach(async () => {
    user = await newUser(gateway)
  })
  afterEach(async () => {
    for (const remove of cleanups.splice(0)) await remove()
  })

  const policy = async (fields: NewPolicy) => {
    const created = await newPolicy(gateway, fields)
    cleanups.push(created.remove)
    return created
  }
  const own = async (...rules: object[]) => {
    for (const rule of rules) await user.call('POST', '/v1/firewall-rules', rule)
  }
  const ask = (content: unknown, more: object = {}) =>
    user.call('POST', '/v1/chat/completions', {
      model: 'gpt-4o',
      messages: [{ role: 'user', content }],
      ...more,
    })
  const sent = () => JSON.stringify(sandbox.requests.at(-1)?.body)
  const simulate = async (content: unknown) => {
    const request = { model: 'gpt-4o', messages: [{ role: 'user', content }] }
    const { data } = (await user.call('POST', '/v1/simulate', request)).body
    const asOperator = { user_id: user.id, request }
    const other = await asAdmin(gateway, 'POST', '/admin/simulate', asOperator)
    expect(other.body.data.outcome).to.equal(data.outcome)
    expect(other.body.data.request).to.deep.equal(data.request)
    return data
  }
  const expectBlocked = ({ status, headers, body }: Answer, rule: string) => {
    expect([status, headers.get('x-error-code')], JSON.stringify(body)).to.deep.equal([
      403,
      'firewall_blocked',
    ])
    expect(body.error.message).to.contain(rule)
  }
  const traceOf = async (answer: Answer) =>
    (await user.call('GET', `/v1/requests/${answer.headers.get('x-request-id')}`)).body.data.rule_trace

  it('when a mask of the user writes it', async () => {
    await policy({ name: 'Secrecy', firewall: [firewallRule({ name: 'Falcon', pattern: 'project falcon' })] })
    await own(mask('qx1', 'falcon'))
    const answer = await ask('about project qx1')
    expectBlocked(answer, 'Request blocked by firewall rule "Falcon" of policy "Secrecy".')
    expect((await simulate('about project qx1')).outcome).to.equal('refused')
    const trace = await traceOf(answer)
    expect(trace.map(({ action, reason }: never) => [action, reason ?? null])).to.deep.equal([
      ['mask', null],
      ['block', 'after_masks'],
    ])
    expect((await ask('about qx1')).status).to.equal(200)
    expect(sent()).to.contain('about falcon')
  })

  for (const [what, content] of [
    ['in a text', `pay ${DIVIDED_CARD}`],
    ['in parts', [{ type: 'text', text: `pay ${DIVIDED_CARD}` }]],
    ['across parts', ['4111~~1111', '~~1111~~1111'].map((text) => ({ type: 'text', text }))],
  ] as const)
    it(`when a mask of the user removes what divides it, ${what}`, async () => {
      await policy({ firewall: [firewallRule({ name: 'Cards', type: 'preset', pattern: 'card_number' })] })
      await own(mask('~~', ''))
      expectBlocked(await ask(content), '"Cards"')
      expect((await simulate(content)).outcome).to.equal('refused')
      expect((await ask('a~~b')).status).to.equal(200)
      expect(sent()).to.contain('ab')
    })

  const SENT_WITH = 'gpt-4o'
  for (const [name, dialect] of Object.entries(DIALECTS))
    for (const stream of dialect.streams ? [false, true] : [false])
      it(`in ${name}${stream ? ', streamed' : ''}`, async () => {
        await policy({ firewall: [firewallRule({ pattern: 'project falcon' })] })
        await own(mask('qx1', 'falcon'))
        const before = sandbox.requests.at(-1)
        const response = await fetch(dialect.url(gateway), {
          method: 'POST',
          headers: { authorization: `Bearer ${user.key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ ...dialect.body(SENT_WITH, 'project qx1'), ...(stream && { stream }) }),
        })
        expect(response.status).to.equal(403)
        expect(response.headers.get('x-error-code')).to.equal('firewall_blocked')
        expect(sandbox.requests.at(-1)).to.equal(before)
      })

  const tool = (description: string) => ({ type: 'function', function: { name: 'f', description } })
  const calls = (json: string) => [
    { role: 'user', content: 'go' },
    {
      role: 'assistant',
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: json } }],
    },
    { role: 'tool', tool_call_id: 'c', content: json },
  ]
  for (const [place, more] of [
    ['a description of a tool', { tools: [tool('project qx1')] }],
    ['arguments and results of a tool', { messages: calls('{"a":"project qx1"}'), tools: [tool('f')] }],
    ['escaped arguments', { messages: calls('{"a":"project q\\u0078\\u0031"}'), tools: [tool('f')] }],
    ['names of arguments', { messages: calls('{"project qx1":1}'), tools: [tool('f')] }],
    ['a URL', { messages: [{ role: 'user', content: [image('https://x.test/project qx1')] }] }],
    ['a text file', { messages: [{ role: 'user', content: [file('the project qx1')] }] }],
    ['the name of the user', { user: 'project qx1' }],
    ['system messages', { messages: system('project ', 'qx1') }],
    ['messages that a provider receives as one', { messages: users('project ', 'qx1') }],
  ] as const)
    it(`in ${place}`, async () => {
      await policy({ firewall: [firewallRule({ name: 'Falcon', pattern: 'project falcon' })] })
      await own(mask('qx1', 'falcon'))
      expectBlocked(await ask('hi', more), '"Falcon"')
    })

  it('when a lower policy masks, not the user', async () => {
    await policy({ priority: 5, firewall: [firewallRule({ name: 'Falcon', pattern: 'project falcon' })] })
    await policy({ priority: 0, firewall: [mask('qx1', 'falcon')] })
    expectBlocked(await ask('project qx1'), '"Falcon"')
  })

  it('when its own mask writes it', async () => {
    await policy({ firewall: [firewallRule({ name: 'AB', pattern: 'ab', priority: 1 }), mask('x', '')] })
    expectBlocked(await ask('a x b: axb'), '"AB"')
    expect((await ask('a x b')).status).to.equal(200)
  })

  it('and the rules of a user hold for what masks of a policy write after them', async () => {
    await policy({ firewall: [mask('falcon', 'hawk')] })
    await own(
      firewallRule({ name: 'Mine', pattern: 'project hawk' }),
      mask('qx1', 'falcon', { priority: -1 }),
    )
    expectBlocked(await ask('project qx1'), '"Mine"')
  })

  it('so that among the rules of a user, the order decides', async () => {
    await policy({ firewall: [firewallRule({ pattern: 'elsewhere' })] })
    await own(firewallRule({ pattern: 'falcon', priority: 1 }), mask('qx1', 'falcon'))
    expect((await ask('qx1')).status).to.equal(200)
    expect(sent()).to.contain('falcon')
  })

  describe('and its masks hold', () => {
    it('when a mask of the user writes what they hide', async () => {
      await policy({ firewall: [mask('falcon', '[bird]')] })
      await own(mask('qx1', 'falcon'))
      const answer = await ask('qx1 and falcon')
      expect(answer.status).to.equal(200)
      expect(sent()).to.contain('[bird] and [bird]')
      expect((await simulate('qx1 and falcon')).request.messages[0].content).to.equal('[bird] and [bird]')
      const applied = (await traceOf(answer)).map(({ name, outcome }: never) => [name, outcome])
      expect(applied).to.deep.equal([
        ['A rule', 'applied'],
        ['A rule', 'applied'],
      ])
    })

    it('when removing a match leaves another one', async () => {
      await policy({ firewall: [mask('falcon', '')] })
      expect((await ask('a falfalfalconconcon!')).status).to.equal(200)
      expect(sent()).to.contain('"a !"')
    })

    it('or the request is refused where masks undo each other', async () => {
      await policy({ name: 'P', firewall: [mask('falcon', 'bird', { name: 'Hide' })] })
      await own(mask('bird', 'falcon', { name: 'Seek' }))
      const answer = await ask('falcon')
      expectBlocked(answer, 'its mask and those of other rules undo each other')
      expect((await simulate('falcon')).outcome).to.equal('refused')
      expect((await ask('nothing')).status).to.equal(200)
    })

    it('once, where the replacement holds the match', async () => {
      const lists = (text: string) => [{ type: 'text', text }]
      await policy({ firewall: [mask('password', '[password removed]')] })
      await policy({
        priority: -1,
        firewall: [
          mask('/(\\d+)/', '<$1>', { type: 'regex' }),
          mask('/^(.*)$/s', '$1 Be nice.', { type: 'regex' }),
        ],
      })
      await own(mask('secret', '[secret removed]'))
      const masked = '[password removed] [secret removed] <4711>'
      for (const wrap of [String, lists]) {
        expect((await ask(wrap('password secret 4711'))).status).to.equal(200)
        expect(sent()).to.contain(masked).and.not.to.contain(`[${masked}`)
        expect((await ask(wrap('hello'))).status).to.equal(200)
        expect(sent()).to.contain('hello Be nice."')
      }
    })

    it('when a mask with groups puts together what it hides, or what another one hides', async () => {
      await policy({
        firewall: [
          mask('/falcon(s?)/', '$1', { type: 'regex', priority: 3 }),
          mask('~(\\d\\d)/(\\d\\d)~', '[$2/$1]', { type: 'regex', priority: 2 }),
          mask('/x(\\w)x/', '$1', { type: 'regex', priority: 1 }),
        ],
      })
      for (const text of ['falfalconcon', 'falfalfalconconcon', 'falxcxon']) {
        expect((await ask(`a ${text}!`)).status).to.equal(200)
        expect(sent()).to.contain('a !')
      }
      expect((await ask('12/31 falfalconscons')).status).to.equal(200)
      expect(sent()).to.contain('"[31/12] falscons"')
    })

    it('and what a mask with groups wrote stays when others change the text', async () => {
      await policy({
        firewall: [
          mask('~(\\d\\d)/(\\d\\d)~', '$2/$1', { type: 'regex', priority: 1 }),
          mask('tiger', 'cat'),
        ],
      })
      await own(mask('qx1', 'tiger 11/30'))
      expect((await ask('12/31 tiger, qx1')).status).to.equal(200)
      expect(sent()).to.contain('31/12 cat, cat 30/11')
    })

    it('also across parts, where it refuses', async () => {
      await policy({ firewall: [mask('secret', '[secret]', { name: 'Hide' })] })
      await own(mask('~', ''))
      expectBlocked(await ask(['secret s~ec', 'ret'].map((text) => ({ type: 'text', text }))), '"Hide"')
    })
  })

  describe('and the conditions of its routing rules', () => {
    const toMistral = { name: 'Here', match_json: { contains: 'secretproject' } }
    const providerOf = async (answer: Promise<Answer>) => (await answer).headers.get('x-provider')
    const auto = { model: 'auto' }

    it('see what a mask of the user hides', async () => {
      await policy({ routing: [routingRule({ set_provider: 'mistral' }, toMistral)] })
      await own(mask('secretproject', '[x]'))
      expect(await providerOf(ask('a secretproject', auto))).to.equal('mistral')
      expect(sent()).not.to.contain('secretproject')
      expect((await simulate('a secretproject')).targets[0].provider).to.equal('mistral')
    })

    it('see what a mask of the user writes', async () => {
      await policy({ routing: [routingRule({ set_provider: 'mistral' }, toMistral)] })
      await own(mask('qx1', 'secretproject'))
      expect(await providerOf(ask('a qx1', auto))).to.equal('mistral')
    })

    it('see metadata that a mask of the user hides', async () => {
      const match_json = { metadata_equals: { team: 'legal' } }
      await policy({ routing: [routingRule({ set_provider: 'mistral' }, { match_json })] })
      await own(mask('legal', 'other'))
      expect(await providerOf(ask('hi', { ...auto, user: '{"team":"legal"}' }))).to.equal('mistral')
    })

    it('do not see what masks of a policy before it hide, and those of the user see what is sent', async () => {
      await policy({ priority: 1, firewall: [mask('secretproject', '[x]')] })
      await policy({ routing: [routingRule({ set_provider: 'mistral' }, toMistral)] })
      expect(await providerOf(ask('a secretproject', auto))).not.to.equal('mistral')
      const match_json = { contains: 'plan b' }
      await user.call('POST', '/v1/routing-rules', routingRule({ set_provider: 'gemini' }, { match_json }))
      await own(mask('plan b', 'plan c'))
      expect(await providerOf(ask('a plan b', auto))).not.to.equal('gemini')
    })

    it('apply once, in the order of the rules', async () => {
      const add = (text: string, contains: string) =>
        routingRule({ add_warning: { message: text } }, { match_json: { contains } })
      await policy({ routing: [add('one', 'hidden'), add('two', 'stays'), add('three', 'written')] })
      await own(mask('hidden', 'written'))
      const { body } = await ask('hidden stays')
      const messages = body.signalbox.warnings.map(({ message }: { message: string }) => message)
      expect(messages).to.deep.equal(['one', 'two', 'three'])
    })
  })
})
