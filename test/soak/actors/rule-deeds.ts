import type { Loose } from '../client.ts'
import { mustBe, mustEqual, mustMatch } from '../expect.ts'
import { chatBody } from '../kinds/chat.ts'
import { firewall } from '../people.ts'
import { speak } from '../speak.ts'
import { contentOf, type KnownRule, listOf, noteRemoval, noteRule } from './rule-book.ts'
import { PATHS, type RuleHand } from './rule-hand.ts'

export async function createRule({ book, anyKind, content, change }: RuleHand): Promise<string> {
  const kind = anyKind()
  const sent = content(kind)
  const got = await change([`${kind} created`], 'POST', PATHS[kind], sent)
  mustBe(got, 201)
  mustMatch(pick(got.body.data, sent), sent, 'the created rule')
  noteRule(book, kind, got.body.data)
  return 'created'
}

export async function updateRule(hand: RuleHand, rule: KnownRule): Promise<string> {
  const { call, change, book, world } = hand
  const { kind, shown, revision } = rule
  const path = `${PATHS[kind]}/${shown.id}`
  const { name, priority } = hand.content(kind)
  const sent = world.chance.chance(0.5) ? { name, is_enabled: !shown.is_enabled } : { priority }
  if (world.chance.chance(0.2)) {
    mustBe(await call('PATCH', path, sent, { 'if-match': `"${revision + 7}"` }), 412)
    return 'refused, for it is at another revision'
  }
  const headers: Record<string, string> = world.chance.chance(0.5) ? { 'if-match': `"${revision}"` } : {}
  const got = await change([`${kind} updated`], 'PATCH', path, sent, headers)
  mustBe(got, 200)
  mustMatch(contentOf(got.body.data), { ...contentOf(shown), ...sent }, 'the changed rule')
  mustEqual(got.headers.etag, `"${noteRule(book, kind, got.body.data).revision}"`, 'the ETag')
  return 'changed'
}

export async function removeRule({ call, change, book }: RuleHand, rule: KnownRule): Promise<string> {
  const { kind, shown } = rule
  const path = `${PATHS[kind]}/${shown.id}`
  mustBe(await change([`${kind} deleted`], 'DELETE', path), 200)
  noteRemoval(book, shown.id)
  mustBe(await call('GET', path), 404)
  return 'deleted'
}

/** Reverts an existing or deleted rule to any of its revisions. */
export async function revertRule(hand: RuleHand): Promise<string> {
  const { call, change, book, world } = hand
  const candidates = [...book.gone, ...[...book.rules.values()].filter(({ revision }) => revision > 1)]
  if (candidates.length === 0) return createRule(hand)
  const rule = world.chance.pick(candidates)
  const path = `${PATHS[rule.kind]}/${rule.shown.id}/revert`
  const revision = 1 + world.chance.integer(rule.history.length)
  const past = rule.history[revision - 1]
  if (past === null) {
    mustBe(await call('POST', path, { revision }), 400)
    return 'refused, for there is nothing to go back to'
  }
  const got = await change([`${rule.kind} reverted`], 'POST', path, { revision })
  mustBe(got, 200)
  mustMatch(contentOf(got.body.data), past, 'the reverted rule')
  noteRule(book, rule.kind, got.body.data)
  return 'reverted'
}

/** Makes three changes in one atomic batch. */
export async function changeTogether(hand: RuleHand): Promise<string> {
  const { call, change, book, world, content } = hand
  const rules = [...book.rules.values()]
  const first = rules[world.chance.integer(rules.length)]
  const second = rules.find((rule) => rule !== first)
  if (first === undefined || second === undefined) return createRule(hand)
  const kind = hand.anyKind()
  const data = { priority: world.chance.integer(9) }
  const create = { kind, op: 'create', data: content(kind) }
  const update = { kind: first.kind, op: 'update', id: first.shown.id, data, revision: first.revision }
  const remove = { kind: second.kind, op: 'delete', id: second.shown.id }
  const send = (...operations: readonly object[]) => ['POST', '/v1/rules/batch', { operations }] as const
  if (world.chance.chance(0.2)) {
    mustBe(await call(...send(create, { ...update, revision: first.revision + 7 }, remove)), 412)
    return 'batch refused, none of it made'
  }
  const events = [`${kind} created`, `${first.kind} updated`, `${second.kind} deleted`]
  const got = await change(events, ...send(create, update, remove))
  mustBe(got, 200)
  const [created, updated, removed] = got.body.data
  mustMatch(contentOf(updated), { ...contentOf(first.shown), ...data }, 'the rule changed in a batch')
  mustMatch(removed, { success: true }, 'the removal in a batch')
  noteRule(book, kind, created)
  noteRule(book, first.kind, updated)
  noteRemoval(book, second.shown.id)
  return 'batch'
}

/** Checks that a rule applies to the next request, and no longer once its deletion is acknowledged. */
export async function takeEffect(hand: RuleHand): Promise<string> {
  const { call, change, book, world, person } = hand
  const word = wordOfNoRule(hand)
  const send = () => {
    const said = speak(world, { person, feature: 'none' })
    const body = chatBody({ ...said, prompt: `${said.prompt} ${word}` }, 'auto')
    return call('POST', '/v1/chat/completions', body)
  }
  const rule = firewall('stop', { pattern: word, action: 'block', priority: 1000 }).data
  const made = await change(['firewall created'], 'POST', PATHS.firewall, rule)
  mustBe(made, 201)
  const { id } = noteRule(book, 'firewall', made.body.data).shown
  const refused = await send()
  mustBe(refused, 403)
  mustEqual(refused.body.error.meta.rule_id, id, 'the rule that blocks')
  mustBe(await change(['firewall deleted'], 'DELETE', `${PATHS.firewall}/${id}`), 200)
  noteRemoval(book, id)
  mustBe(await send(), 200)
  return 'in force at once, gone at once'
}

export async function lookAtRules({ call, book, ledger }: RuleHand): Promise<string> {
  for (const kind of ['routing', 'firewall'] as const) {
    const list = await call('GET', PATHS[kind])
    mustBe(list, 200)
    mustMatch(list.body.data, listOf(book, kind), `the ${kind} rules of ${ledger.who}`)
  }
  return 'lists as they must be'
}

export async function sendWrongRule({ call, content, anyKind }: RuleHand): Promise<string> {
  const kind = anyKind()
  const got = await call('POST', PATHS[kind], { ...content(kind), priority: 5000 })
  mustBe(got, kind === 'routing' ? 422 : 400)
  return String(got.status)
}

/**
 * A small set of words, so that the gateway's pattern cache soon contains them all. A revert may have
 * restored a rule with one of them.
 */
function wordOfNoRule({ book, world }: RuleHand): string {
  const taken = new Set([...book.rules.values()].map(({ shown }) => shown.pattern))
  for (;;) {
    const word = `derailed${world.chance.integer(100)}q`
    if (!taken.has(word)) return word
  }
}

/** Returns the fields of `shown` that were sent. */
function pick(shown: Loose, sent: object): Loose {
  return Object.fromEntries(Object.keys(sent).map((name) => [name, shown[name]]))
}
