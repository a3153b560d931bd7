import { MODELS } from '../../support/providers.ts'
import type { Loose } from '../client.ts'
import { must, mustBe, mustEqual, mustMatch } from '../expect.ts'
import { speak } from '../speak.ts'
import type { Kind, World } from '../world.ts'
import { mustAnswer } from './answer.ts'

/** Sends `POST /route` to the direct-routing address. */
async function route(world: World): Promise<string> {
  const said = speak(world)
  const cost_priority = world.chance.pick(['cost', 'quality', 'speed', 'balanced'])
  const body = { prompt: said.prompt, cost_priority }
  const got = await world.client.ask({ path: '/route', key: said.person.key, body, direct: true })
  mustBe(got, 200)
  const { router_meta, model, signalbox, choices } = got.body
  mustEqual(router_meta.selected_model, model, `the selected model of ${got.requestId}`)
  must(router_meta.estimated_cost > 0, () => `${got.requestId} has no cost`)
  const telling = {
    text: choices[0].message.content,
    model,
    provider: router_meta.selected_provider,
    mode: got.headers['x-routing-mode'] ?? '',
    requestId: got.requestId,
    signalbox,
  }
  mustAnswer(telling, said, 'auto', got.requestId)
  return 'routed'
}

async function listModels({ client, people, chance }: World): Promise<string> {
  const { key } = chance.pick(people)
  const list = await client.ask({ path: '/v1/models', key })
  mustBe(list, 200)
  const { id } = chance.pick<{ id: string }>(list.body.data)
  const one = await client.ask({ path: `/v1/models/${encodeURIComponent(id)}`, key })
  mustBe(one, 200)
  mustEqual(one.body.id, id, 'the model')
  return 'listed, and one read'
}

/** Simulates a request, which must be handled like the request itself. */
async function simulate(world: World): Promise<string> {
  const said = speak(world, world.chance.chance(0.3) ? { feature: 'block' } : {})
  const { key, rules } = said.person
  const body = { model: MODELS.openai, messages: [{ role: 'user', content: said.prompt }] }
  const got = await world.client.ask({ path: '/v1/simulate', key, body })
  mustBe(got, 200)
  const { outcome, blocked_by, request } = got.body.data
  if (said.blockedBy !== undefined) {
    mustEqual(outcome, 'refused', 'the outcome')
    mustEqual(blocked_by.rule_id ?? blocked_by.id, rules[said.blockedBy], 'the rule that would block')
    return 'refused, simulated'
  }
  mustEqual(outcome, 'allowed', 'the outcome')
  mustEqual(request.messages[0].content, said.heard, 'what would be sent')
  return 'allowed, simulated'
}

/** Reads history, diff and audit of people whose rules no longer change. */
async function readPast({ client, people, chance }: World): Promise<string> {
  const { key, rules, keyId } = chance.pick(people)
  const count = Object.keys(rules).length
  const audit = await client.ask({ path: '/v1/audit?limit=500', key })
  mustBe(audit, 200)
  const made = audit.body.data.filter(({ actor }: Loose) => actor.id === keyId)
  mustEqual(made.length, count, 'the number of changes by the user')
  const position = made[0].position
  const [then, now, history, diff] = [
    await client.ask({ path: `/v1/firewall-rules?as_of=${position}`, key }),
    await client.ask({ path: '/v1/firewall-rules', key }),
    await client.ask({ path: `/v1/routing-rules/${rules.cheap}/history`, key }),
    await client.ask({ path: `/v1/rules/diff?from=${position - count - 5}`, key }),
  ]
  for (const got of [then, now, history, diff]) mustBe(got, 200)
  mustMatch(then.body, now.body, 'the list as of the last change')
  mustEqual(history.body.data.length, 1, 'the length of a history')
  const { routing, firewall } = diff.body.data
  mustEqual(routing.added.length + firewall.added.length, count, 'the rules that the difference adds')
  return 'audit, as of, history, difference'
}

export const readingKinds: readonly Kind[] = [
  { name: 'route', weight: 6, run: route },
  { name: 'models', weight: 2, run: listModels },
  { name: 'simulate', weight: 2, run: simulate },
  { name: 'history', weight: 1, run: readPast },
]
