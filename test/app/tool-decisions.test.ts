import { expect } from 'chai'
import { toolRuleBody } from '../support/bodies.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { startWithPlugins } from '../support/plugins.ts'
import { asAdmin, newPolicy } from '../support/policies.ts'
import { type CalledTool, decideTool, TOOL_CALLER } from '../support/tool-caller.ts'

const ADD = { add: [{ use: 'tool-caller', before: 'dispatch' }] }

describe('what tool rules decide', () => {
  let gateway: RunningGateway
  let user: TestUser
  before(async () => {
    gateway = await startWithPlugins({ 'tool-caller': TOOL_CALLER }, ADD)
  })
  after(() => gateway?.stop())
  beforeEach(async () => {
    user = await newUser(gateway)
  })

  const addOwn = async (...rules: readonly object[]) => {
    const operations = rules.map((rule) => ({ kind: 'tool', op: 'create', data: toolRuleBody(rule) }))
    const { status, body } = await user.call('POST', '/v1/rules/batch', { operations })
    expect(status, JSON.stringify(body)).to.equal(200)
    return body.data.map(({ id }: { id: number }) => id) as readonly number[]
  }
  const addPolicy = (tool: readonly object[], more: object = {}) =>
    newPolicy(gateway, { tool: tool.map(toolRuleBody), applies_to: { users: [user.id] }, ...more })
  const actionOf = async (call?: CalledTool) => (await decideTool(user, call)).action ?? 'default'
  const isListed = async (call?: CalledTool): Promise<boolean> => (await decideTool(user, call)).isListed

  it('is nothing without rules: the default of the server applies', async () => {
    expect(await decideTool(user)).to.deep.equal({ warnings: [], trace: [], isListed: true })
    expect(await isListed({ byDefault: false })).to.equal(false)
  })

  it('is by the first rule that matches: policies in order, then the own ones, by priority and id', async () => {
    const [first] = await addOwn(
      { name: 'later', priority: 5, action: 'hide' },
      { name: 'low', priority: 0, action: 'require_approval' },
    )
    const verdict = await decideTool(user)
    const entry = { kind: 'tool', rule_id: first, name: 'later', action: 'hide', outcome: 'applied' }
    expect(verdict).to.deep.equal({
      action: 'hide',
      rule: { id: first, name: 'later' },
      warnings: [],
      trace: [entry],
      isListed: false,
    })
    const low = await addPolicy([{ name: 'second', action: 'require_approval' }], { priority: 1 })
    const high = await addPolicy(
      [
        { name: 'other tool', match: { tool: 'write' }, priority: 9 },
        { name: 'first', action: 'allow' },
        { name: 'same priority', action: 'deny' },
      ],
      { priority: 2, name: 'High' },
    )
    const origin = { type: 'policy', id: high.id, name: 'High' }
    const decided = await decideTool(user)
    expect(decided.action).to.equal('allow')
    expect(decided.rule).to.deep.equal({ id: high.ruleIds[1], name: 'first', origin })
    expect(decided.trace).to.deep.equal([
      { ...entry, rule_id: high.ruleIds[1], name: 'first', action: 'allow', origin },
    ])
    await high.remove()
    expect((await decideTool(user)).rule.name).to.equal('second')
    await low.remove()
    expect((await decideTool(user)).rule.name).to.equal('later')
  })

  it('takes a change from the next call on, and skips disabled rules', async () => {
    const [id] = await addOwn({})
    expect(await actionOf()).to.equal('deny')
    await user.call('PATCH', `/v1/tool-rules/${id}`, { is_enabled: false })
    expect(await actionOf()).to.equal('default')
    await user.call('PATCH', `/v1/tool-rules/${id}`, { is_enabled: true, action: 'require_approval' })
    expect(await actionOf()).to.equal('require_approval')
    await user.call('DELETE', `/v1/tool-rules/${id}`)
    expect(await actionOf()).to.equal('default')
  })

  it('adds up warnings, also after a rule that lets the call pass, and none after a refusal', async () => {
    const warn = (name: string, priority: number) => ({ name, action: 'warn', priority })
    const policy = await addPolicy([warn('a', 9), { name: 'yes', action: 'allow' }, warn('b', -1)], {
      name: 'P',
    })
    await addOwn(warn('c', 5), { name: 'no', priority: 4 }, warn('d', 3))
    const allowed = await decideTool(user)
    const messages = (verdict: { warnings: { code: string; message: string }[] }) =>
      verdict.warnings.map(({ code, message }) => `${code}: ${message}`)
    const named = ['"a" of policy "P"', '"b" of policy "P"', '"c"', '"d"']
    expect(messages(allowed)).to.deep.equal(named.map((name) => `tool: Tool rule ${name} triggered.`))
    expect(allowed.trace.map(({ name }: { name: string }) => name)).to.deep.equal(['a', 'yes', 'b', 'c', 'd'])
    await policy.remove()
    const denied = await decideTool(user)
    expect([denied.action, ...messages(denied)]).to.deep.equal(['deny', 'tool: Tool rule "c" triggered.'])
  })

  it('opens nothing by an own rule: it only precedes own rules', async () => {
    const [id] = await addOwn(
      { match: { tool: 'read' }, action: 'allow', priority: 2 },
      { match: { tool: 're*' }, action: 'deny' },
    )
    const { action, rule, isListed: listed } = await decideTool(user)
    expect([action, rule.id, listed]).to.deep.equal([undefined, id, true])
    expect(await isListed({ byDefault: false })).to.equal(false)
    expect(await actionOf({ tool: 'rename' })).to.equal('deny')
    await addPolicy([{ match: { tool: 'read' }, action: 'allow' }])
    expect(await actionOf()).to.equal('allow')
    expect(await isListed({ byDefault: false })).to.equal(true)
  })

  it('leaves out own rules of a plan without rules, with a warning where they would be given', async () => {
    await addOwn({}, { is_enabled: false })
    const policy = await addPolicy([{ action: 'require_approval' }])
    await user.setPlan('free')
    expect(await actionOf()).to.equal('require_approval')
    await policy.remove()
    const response = await user.call('POST', '/v1/chat/completions', {
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'x' }],
    })
    expect(JSON.stringify(response.body.metadata.warnings)).to.contain('1 stored rule was not applied')
    expect(await actionOf()).to.equal('default')
    await user.setPlan('paid')
    expect(await actionOf()).to.equal('deny')
  })

  const matches = async (match: object, call: CalledTool, action = 'require_approval') => {
    const [id] = await addOwn({ match, action })
    const { trace } = await decideTool(user, call)
    await user.call('DELETE', `/v1/tool-rules/${id}`)
    return trace.length === 1
  }

  it('matches names by globs over the whole name', async () => {
    for (const [glob, name, expected] of [
      ['read', 'read', true],
      ['read', 'Read', false],
      ['read', 'reads', false],
      ['r*d', 'read', true],
      ['r??d', 'read', true],
      ['r?d', 'read', false],
      ['*', '', true],
      ['*_file', 'delete_the_file', true],
      ['*_file', 'delete_files', false],
      ['a.c', 'abc', false],
      ['[ab]', 'a', false],
      ['r?d', 'r😀d', true],
    ] as const) {
      expect(await matches({ tool: glob }, { tool: name }), `${glob} ${name}`).to.equal(expected)
      expect(await matches({ server: glob }, { server: name }), `${glob} ${name}`).to.equal(expected)
    }
    expect(await matches({ server: 'a', tool: 'b' }, { server: 'a', tool: 'c' })).to.equal(false)
  })

  it('tests arguments by JSON pointers', async () => {
    const args = { a: { 'b/c': [1, { '~': 'deep' }], '': 'empty' }, list: ['x', 'y'], 'a~1b': 1, none: null }
    for (const [pointer, test, expected] of [
      ['/a/b~1c/0', { equals: 1 }, true],
      ['/a/b~1c/00', { equals: 1 }, false],
      ['/a/b~1c/-', { equals: 1 }, false],
      ['/a/b~1c/1/~0', { equals: 'deep' }, true],
      ['/a/', { equals: 'empty' }, true],
      ['/a~01b', { equals: 1 }, true],
      ['/list', { equals: ['x', 'y'] }, true],
      ['/list', { equals: ['y', 'x'] }, false],
      ['/a/b~1c', { equals: [1, { '~': 'deep' }] }, true],
      ['/none', { equals: null }, true],
      ['/missing', { equals: null }, false],
      ['/constructor', { contains: 'function' }, false],
      ['/list/length', { equals: 2 }, false],
      ['/a/b~1c/1/~0', { contains: 'EE' }, true],
      ['/a/b~1c/1/~0', { matches: '^d.+p$' }, true],
      ['/a/b~1c/1/~0', { matches: '^e' }, false],
      ['', { contains: 'deep' }, true],
      ['', { equals: args }, true],
    ] as const)
      expect(
        await matches({ arguments: { [pointer]: test } }, { arguments: args }),
        `${pointer} ${JSON.stringify(test)}`,
      ).to.equal(expected)
    const both = { '/list/0': { equals: 'x' }, '/list/1': { equals: 'z' } }
    expect(await matches({ arguments: both }, { arguments: args })).to.equal(false)
  })

  it('compares numbers by value, and objects without the order of names', async () => {
    const test = async (equals: unknown, json: string) => {
      const [id] = await addOwn({ match: { arguments: { '/v': { equals } } } })
      const action = await actionOf({ arguments: JSON.parse(`{"v": ${json}}`) })
      await user.call('DELETE', `/v1/tool-rules/${id}`)
      return action === 'deny'
    }
    expect(await test(0, '-0')).to.equal(true)
    expect(await test(1, '1.0')).to.equal(true)
    expect(await test(1, '"1"')).to.equal(false)
    expect(await test({ a: 1, b: [{}] }, '{"b": [{}], "a": 1}')).to.equal(true)
    expect(await test({ a: 1 }, '{"a": 1, "b": null}')).to.equal(false)
    expect(await test([], '{}')).to.equal(false)
  })

  it('searches values that are no text, unless the rule allows', async () => {
    const match = { arguments: { '/path': { contains: '/etc' } } }
    const values = [['/etc/passwd'], { deep: [[{ '/etc': 1 }]] }]
    for (const path of values) {
      for (const action of ['deny', 'hide', 'require_approval', 'warn'])
        expect(await matches(match, { arguments: { path } }, action), action).to.equal(true)
      expect(await matches(match, { arguments: { path } }, 'allow')).to.equal(false)
    }
    expect(await matches(match, { arguments: { path: '/etc/hosts' } }, 'allow')).to.equal(true)
    const number = { arguments: { '/path': { matches: '^12' } } }
    expect(await matches(number, { arguments: { path: 123 } }, 'deny')).to.equal(true)
    expect(await matches(number, { arguments: { path: 123 } }, 'allow')).to.equal(false)
  })

  it('looks at what the session has read', async () => {
    const match = { server: 'mail', after_reading: ['web', 'search_*'] }
    const read = (...read: readonly string[]) => matches(match, { server: 'mail', read })
    expect(await read()).to.equal(false)
    expect(await read('files')).to.equal(false)
    expect(await read('files', 'web')).to.equal(true)
    expect(await read('search_b')).to.equal(true)
    expect(await matches(match, { server: 'files', read: ['web'] })).to.equal(false)
  })

  it('lists a tool if some call of it may pass', async () => {
    const conditional = { arguments: { '/a': { equals: 1 } } }
    const listedWith = async (rules: readonly object[], byDefault: boolean) => {
      const policy = await addPolicy(rules.map((rule, index) => ({ priority: -index, ...rule })))
      const listed = await isListed({ byDefault })
      await policy.remove()
      return listed
    }
    for (const [rules, open, closed] of [
      [[{ action: 'deny' }], false, false],
      [[{ action: 'hide' }], false, false],
      [[{ action: 'warn' }], true, false],
      [[{ action: 'allow' }], true, true],
      [[{ action: 'require_approval' }], true, true],
      [[{ action: 'deny', match: conditional }], true, false],
      [[{ action: 'hide', match: { after_reading: ['web'] } }], true, false],
      [[{ action: 'deny', match: conditional }, { action: 'hide' }], false, false],
      [[{ action: 'allow', match: conditional }, { action: 'deny' }], true, true],
      [[{ action: 'deny', match: { tool: 'write' } }], true, false],
    ] as const) {
      expect(await listedWith(rules, true), JSON.stringify(rules)).to.equal(open)
      expect(await listedWith(rules, false), JSON.stringify(rules)).to.equal(closed)
    }
  })

  it('refuses names that are too long to be compared', async () => {
    await addOwn({ match: { tool: 'write' } })
    const { action, rule, warnings, isListed: listed } = await decideTool(user, { tool: 'x'.repeat(1025) })
    expect([action, rule, listed]).to.deep.equal(['deny', undefined, false])
    expect(warnings).to.deep.equal([{ code: 'tool', message: 'The name is too long for tool rules.' }])
  })
})

describe('tool rules whose pattern does not finish', () => {
  /** Backtracks for an exponential time. */
  const STUCK = { matches: '(a+)+(?![a!])' }
  const stuck = `${'a'.repeat(60)}!`

  let gateway: RunningGateway
  let user: TestUser
  before(async () => {
    const impatient = { use: 'tool-rules', after: 'routing', options: { cpu_ms: 20 } }
    const plugins = { remove: ['tool-rules'], add: [impatient, ...ADD.add] }
    gateway = await startWithPlugins({ 'tool-caller': TOOL_CALLER }, plugins)
    user = await newUser(gateway)
  })
  after(() => gateway?.stop())

  for (const [action, decided] of [
    ['deny', 'deny'],
    ['hide', 'hide'],
    ['require_approval', 'deny'],
    ['allow', undefined],
    ['warn', undefined],
  ] as const)
    it(`${decided ? 'refuse the call' : 'do not match'}: ${action}`, async () => {
      const match = { arguments: { '/text': STUCK } }
      const policy = await newPolicy(gateway, {
        ...{ name: 'P', applies_to: { users: [user.id] } },
        tool: [toolRuleBody({ name: 'slow', match, action })],
      })
      const verdict = await decideTool(user, { arguments: { text: stuck } })
      expect(verdict.action).to.equal(decided)
      expect(verdict.rule?.id).to.equal(decided && policy.ruleIds[0])
      const [entry] = verdict.trace
      expect(entry).to.include({ action, outcome: 'skipped', reason: 'time_limit' })
      const text = 'was not evaluated: its pattern exceeded the time limit'
      expect(verdict.warnings).to.deep.equal([
        { code: 'tool', message: `Tool rule "slow" of policy "P" ${text}.` },
      ])
      expect((await decideTool(user, { arguments: { other: stuck } })).trace).to.deep.equal([])
      await asAdmin(gateway, 'DELETE', policy.path)
    })
})
