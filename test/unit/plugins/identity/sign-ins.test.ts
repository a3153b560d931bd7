import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { createMemorySharedState } from '../../../../core/shared-state/memory.ts'
import type { IssuedTokens } from '../../../../plugins/auth/index.ts'
import {
  type AskProvider,
  createSignIns,
  type TokenAnswer,
} from '../../../../plugins/identity/device/sign-ins.ts'
import type { DomainEvent } from '../../../../projections/events/registry.ts'
import { createGrants } from '../../../../projections/grants.ts'
import type { EventWriter } from '../../../../projections/runtime/write.ts'
import { pastEvents } from '../../../support/past-events.ts'

/** Processes that share a log and the shared state, whose provider answers as given. */
function startProcesses(askProvider: AskProvider) {
  const grants = createGrants()
  const bytes = randomBytes(32)
  const secret = { read: () => bytes, readOrCreate: () => bytes }
  const writer: Pick<EventWriter, 'write'> = {
    async write({ decide }) {
      const events = decide() as readonly DomainEvent[]
      for (const { event, record } of pastEvents(...events)) if (event) grants.apply(event, record)
      return events.length === 0 ? undefined : { revision: 0, position: 1, time: '', replacedWorkers: [] }
    },
  }
  const tokens: IssuedTokens = {
    issue: ({ id }) => `access ${id}`,
    resolve: () => ({
      actor: { type: 'identity', id: 'ada', name: 'ada', issuer: 'https://i' },
      binding: 'ada',
    }),
    isToken: () => false,
    read: () => undefined,
    find: () => undefined,
    admit: () => undefined,
  }
  const sharedState = createMemorySharedState()
  const { signal } = new AbortController()
  const start = () => createSignIns({ grants, writer, tokens, secret, sharedState, askProvider, signal })
  return { start, grants }
}

const ADA = { type: 'identity', id: '1', issuer: 'https://i', subject: 'ada' } as const

describe('sign-ins of several processes', () => {
  it('ask the provider once when both refresh with the same token', async () => {
    const asked: string[] = []
    let accept: (() => void) | undefined
    const accepted = new Promise<void>((resolve) => {
      accept = resolve
    })
    const { start } = startProcesses(async (provider) => {
      asked.push(provider)
      await accepted
      return { provider: `${provider}+` }
    })
    const [one, other] = [start(), start()]
    const grantId = await one.approve('claude_code', ADA, 'req_1')
    const first = (await one.complete(grantId, 'first', 'req_2')) as TokenAnswer
    const both = [one, other].map((each) => each.refresh(first.refresh_token ?? '', 'req_3'))
    accept?.()
    const answers = (await Promise.all(both)) as TokenAnswer[]
    expect(asked).to.deep.equal(['first'])
    for (const { refresh_token = '' } of answers) {
      expect(refresh_token).to.be.a('string').and.not.equal(first.refresh_token)
    }
    const next = (await other.refresh(answers[1]?.refresh_token ?? '', 'req_4')) as TokenAnswer
    expect(next.access_token).to.equal(`access ${grantId}`)
    expect(asked).to.deep.equal(['first', 'first+'])
  })

  it('keep the new token of the provider if its answer cannot be taken over', async () => {
    const asked: string[] = []
    const { start, grants } = startProcesses(async (provider) => {
      asked.push(provider)
      const next = `${provider}+`
      return asked.length === 1 ? { provider: next, error: 'temporarily_unavailable' } : { provider: next }
    })
    const signIns = start()
    const grantId = await signIns.approve('claude_code', ADA, 'req_1')
    const { refresh_token = '' } = (await signIns.complete(grantId, 'first', 'req_2')) as TokenAnswer
    expect(await signIns.refresh(refresh_token, 'req_3')).to.deep.equal({ error: 'temporarily_unavailable' })
    expect(grants.find(grantId)).not.to.equal(undefined)
    expect(await signIns.refresh(refresh_token, 'req_4')).to.include({ token_type: 'Bearer' })
    expect(asked).to.deep.equal(['first', 'first+'])
  })

  it('end when the provider refuses', async () => {
    const { start, grants } = startProcesses(async () => ({ error: 'invalid_grant' }))
    const signIns = start()
    const grantId = await signIns.approve('claude_code', ADA, 'req_1')
    const { refresh_token = '' } = (await signIns.complete(grantId, 'first', 'req_2')) as TokenAnswer
    expect(await signIns.refresh(refresh_token, 'req_3')).to.deep.equal({ error: 'invalid_grant' })
    expect(grants.find(grantId)).to.equal(undefined)
  })
})
