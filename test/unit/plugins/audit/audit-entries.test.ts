import { expect } from 'chai'
import { showAuditEntry, toAuditEntries } from '../../../../plugins/audit/audit-entries.ts'
import { EVENTS } from '../../../../projections/events/registry.ts'
import type { PastEvent } from '../../../../projections/past-events.ts'
import {
  created,
  deleted,
  firewallCreated,
  keyIssued,
  keyRevoked,
  minute,
  pastEvents,
  planChanged,
  updated,
  userCreated,
} from '../../../support/past-events.ts'
import { TEST_KINDS } from '../../../support/rules.ts'

const entriesOf = async (events: readonly PastEvent[]) =>
  (await toAuditEntries(events, TEST_KINDS)).map((entry) => showAuditEntry(entry))

describe('toAuditEntries', () => {
  it('includes actor, time, and the state before and after each change', async () => {
    const [, second] = await entriesOf(pastEvents(created(5), updated(5, { priority: 3 })))
    const rule = {
      id: 5,
      user_id: 1,
      name: 'A route',
      is_enabled: true,
      priority: 0,
      match_json: {},
      action_json: {},
      created_at: minute(1),
      updated_at: minute(1),
    }
    expect(second).to.deep.equal({
      position: 20,
      time: minute(2),
      actor: { type: 'key', id: 'key_a', name: 'Ada' },
      request_id: 'req_2',
      kind: 'routing',
      id: 5,
      revision: 2,
      event: 'updated',
      before: rule,
      after: { ...rule, priority: 3, updated_at: minute(2) },
    })
  })

  it('numbers the revisions of each subject separately, including deletions', async () => {
    const entries = await entriesOf(
      pastEvents(created(5), firewallCreated(6), updated(5, {}), deleted(5), keyIssued('key_a')),
    )
    expect(entries.map(({ id, revision }) => [id, revision])).to.deep.equal([
      [5, 1],
      [6, 1],
      [5, 2],
      [5, 3],
      ['key_a', 1],
    ])
  })

  it('shows users and keys without hashes', async () => {
    const entries = await entriesOf(
      pastEvents(
        userCreated,
        keyIssued('key_a'),
        keyIssued('key_b'),
        keyRevoked('key_a'),
        planChanged('free'),
      ),
    )
    const user = { id: 1, name: 'Ada', created_at: minute(1) }
    expect(entries.map(({ kind, event }) => `${kind} ${event}`)).to.deep.equal([
      'user created',
      'key created',
      'key created',
      'key revoked',
      'user plan_changed',
    ])
    expect(entries[3]).to.deep.include({
      before: { id: 'key_a', created_at: minute(2), revoked_at: null },
      after: { id: 'key_a', created_at: minute(2), revoked_at: minute(4) },
    })
    expect(entries[4]).to.deep.include({
      before: { ...user, groups: [], plan: 'paid' },
      after: { ...user, groups: [], plan: 'free' },
    })
    expect(JSON.stringify(entries)).not.to.contain('ffff')
  })

  it('marks reverts', async () => {
    const revert = updated(5, { priority: 0 })
    Object.assign(revert.data, { revertedTo: 1 })
    const [, , third] = await entriesOf(pastEvents(created(5), updated(5, { priority: 3 }), revert))
    expect(third).to.deep.include({ event: 'reverted', reverted_to: 1, revision: 3 })
  })

  it('includes events that it cannot decode', async () => {
    const [decoded, newer] = pastEvents(created(5), created(6))
    const unknown = { event: undefined, record: { ...newer?.record, type: 'RuleShared' } } as PastEvent
    const [, second] = await entriesOf([decoded as PastEvent, unknown])
    expect(second).to.deep.include({
      kind: 'unknown',
      event: 'RuleShared',
      id: null,
      before: null,
      after: null,
    })
  })

  it('knows every type of event about users and rules', async () => {
    const data = { userId: 1, ruleId: 5, keyId: 'key_a' }
    const isShared =
      /^(Ids|Log|Checkpoint|(Overall|Shadow)Budget|Operator|Router[TARV]|Approval|Tool(?!Rule))/
    const isAccess = /^(DataRead|PromptsDeleted|Ratings|Imported|SessionEnded|SignIn)/
    const types = EVENTS.types.filter((type) => !isShared.test(type) && !isAccess.test(type))
    const events = types.map((type) => ({ type, data: type.includes('Rule') ? data : { userId: 1 } }))
    for (const [index, { kind }] of (
      await toAuditEntries(pastEvents(...(events as never[])), TEST_KINDS)
    ).entries()) {
      expect(kind, types[index]).not.to.equal('unknown')
    }
  })
})
