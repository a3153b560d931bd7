import { useState } from 'preact/hooks'
import { ApiError, get, send } from '../lib/api.ts'
import { useData, useResource } from '../lib/data.ts'
import {
  type DraftRule,
  type EffectiveRules,
  isChangedDraft,
  KIND_TITLES,
  keepDrafts,
  moveDraft,
  NEW_RULES,
  newDraft,
  pendingDrafts,
  RULE_KINDS,
  type Rule,
  type RuleKind,
  rebaseDrafts,
  toDraft,
  toOperations,
} from '../lib/drafts.ts'
import { isUtc } from '../lib/range.ts'
import { route, setQuery } from '../lib/router.ts'
import type { Change, Policy, Usage } from '../lib/schemas.ts'
import { root, seesEverything, session } from '../lib/session.ts'
import { resolveRange } from '../lib/time-range.ts'
import { ChangeDialog, Dialog } from '../ui/dialogs.tsx'
import { Diff } from '../ui/diff.tsx'
import { Empty, PageLayout, Panel, ResourceView } from '../ui/page.tsx'
import { isToldBySentence, Sentence } from '../ui/sentence.tsx'
import { RuleLine, Time } from '../ui/values.tsx'
import { RuleDialog } from './rule-dialog.tsx'
import { RuleTable } from './rule-table.tsx'
import { WhatIf } from './what-if.tsx'

interface RuleEditorProps {
  /** Where the rules are: `/v1`, or a policy or user below `/admin`. */
  readonly path: string
  readonly canEdit: boolean
  /** The policy that the rules belong to, if they do. */
  readonly policy?: Policy
}

interface LoadedRules {
  readonly drafts: readonly DraftRule[]
  /** Requests of the last 24 hours on which a rule did something, by `kind:id`. */
  readonly hits: ReadonlyMap<string, number>
}

async function loadRules(path: string): Promise<LoadedRules> {
  const readDrafts = async (kind: RuleKind) =>
    (await get<readonly Rule[]>(`${path}/${kind}-rules`, { revisions: true })).map((rule) =>
      toDraft(kind, rule),
    )
  const [drafts, usage] = await Promise.all([
    Promise.all(RULE_KINDS.map(readDrafts)),
    get<readonly Usage[]>(`${root()}/usage`, { group_by: 'rule', ...resolveRange({}, isUtc.value) }).catch(
      () => [],
    ),
  ])
  return {
    drafts: drafts.flat(),
    hits: new Map(usage.map((row) => [String(row.rule), row.requests])),
  }
}

/** Rules of all kinds. Changes are collected, shown as a diff, and saved together with a reason. */
export function RuleEditor({ path, canEdit, policy }: RuleEditorProps) {
  const rules = useResource(`rules ${path}`, () => loadRules(path))
  return (
    <ResourceView resource={rules}>
      {(loaded) => <Editor {...{ path, canEdit, policy, loaded }} reload={rules.reload} />}
    </ResourceView>
  )
}

interface EditorProps {
  readonly path: string
  readonly canEdit: boolean
  readonly policy: Policy | undefined
  readonly loaded: LoadedRules
  readonly reload: () => void
}

type OpenDialog =
  | { readonly type: 'rule'; readonly draft: DraftRule }
  | { readonly type: 'history'; readonly draft: DraftRule }
  | { readonly type: 'save' }

function Editor({ path, canEdit, policy, loaded, reload }: EditorProps) {
  const drafts = rebaseDrafts(pendingDrafts(path), loaded.drafts)
  const setDrafts = (changed: readonly DraftRule[]) => keepDrafts(path, changed)
  // The history of a rule has an address.
  const shared = loaded.drafts.find(({ key }) => key === route.value.query.get('rule'))
  const [dialog, setDialog] = useState<OpenDialog | undefined>(shared && { type: 'history', draft: shared })
  const changed = drafts.filter(isChangedDraft)
  function close() {
    setDialog(undefined)
    setQuery({ rule: undefined })
  }
  function openHistory(draft: DraftRule) {
    setDialog({ type: 'history', draft })
    setQuery({ rule: draft.key })
  }

  function put(draft: DraftRule) {
    const isKnown = drafts.some(({ key }) => key === draft.key)
    setDrafts(isKnown ? drafts.map((other) => (other.key === draft.key ? draft : other)) : [...drafts, draft])
    close()
  }

  /** The changes are compared with the rules of now, which somebody else may have changed. */
  function review() {
    reload()
    setDialog({ type: 'save' })
  }

  async function save(reason: string) {
    try {
      await send('POST', `${path}/rules/batch`, { operations: toOperations(drafts) }, { reason })
    } catch (error) {
      if (error instanceof ApiError && [404, 412].includes(error.status)) {
        reload()
        throw new ApiError(error.status, OVERLAP)
      }
      throw error
    }
    setDrafts([])
    reload()
  }

  const table = (kind: RuleKind, title: string) => (
    <RuleTable
      key={kind}
      title={title}
      drafts={drafts.filter((draft) => draft.kind === kind)}
      hits={loaded.hits}
      canEdit={canEdit}
      onAdd={() => setDialog({ type: 'rule', draft: newDraft(kind, NEW_RULES[kind]) })}
      onEdit={(draft) => setDialog({ type: 'rule', draft })}
      onHistory={openHistory}
      onMove={(key, target) => setDrafts(moveDraft(drafts, key, target))}
      onRemove={(draft) => put({ ...draft, isRemoved: !draft.isRemoved })}
    />
  )
  return (
    <>
      {RULE_KINDS.map((kind) => table(kind, `${KIND_TITLES[kind]} rules`))}
      {changed.length > 0 && (
        <div class="save-bar" role="status">
          <span>{changed.length === 1 ? '1 rule' : `${changed.length} rules`} changed, not saved</span>
          <div class="actions">
            <button type="button" onClick={() => setDrafts(loaded.drafts)}>
              Discard
            </button>
            <button type="button" class="primary" onClick={review}>
              Review and save
            </button>
          </div>
        </div>
      )}
      {dialog?.type === 'rule' && <RuleDialog draft={dialog.draft} onDone={put} onClose={close} />}
      {dialog?.type === 'history' && (
        <RuleHistory
          path={path}
          draft={dialog.draft}
          canRevert={canEdit}
          onReverted={reload}
          onClose={close}
        />
      )}
      {dialog?.type === 'save' && (
        <ChangeDialog
          title="Save the changes"
          action="Save"
          onSave={(_, reason) => save(reason)}
          onClose={close}
        >
          {changed.map((draft) => (
            <section key={draft.key} class="change">
              <h3>
                {draft.isRemoved ? 'Delete' : draft.stored ? 'Change' : 'Add'} {draft.content.name}
              </h3>
              {draft.overlaps && draft.overlaps.length > 0 && (
                <p class="issue">
                  Somebody else has changed this meanwhile: {draft.overlaps.join(', ')}. Saving replaces it.
                </p>
              )}
              <Diff before={draft.stored} after={draft.isRemoved ? null : draft.content} />
            </section>
          ))}
          {policy && seesEverything() && <WhatIf policy={policy} drafts={drafts} />}
        </ChangeDialog>
      )}
    </>
  )
}

/** The newest rules are loaded, and the drafts are compared with them. */
const OVERLAP = 'Somebody else has changed these rules meanwhile. Compare your changes with the rules of now.'

interface RuleHistoryProps {
  readonly path: string
  readonly draft: DraftRule
  readonly canRevert: boolean
  readonly onReverted: () => void
  readonly onClose: () => void
}

/** All changes of a rule, newest first. Each can be reverted to. */
function RuleHistory({ path, draft, canRevert, onReverted, onClose }: RuleHistoryProps) {
  const { kind, stored } = draft
  const rulePath = `${path}/${kind}-rules/${stored?.id}`
  const history = useData<readonly Change[]>(`${rulePath}/history`)
  const [target, setTarget] = useState<Change>()

  if (target !== undefined) {
    return (
      <ChangeDialog
        title={`Revert to revision ${target.revision}?`}
        action="Revert"
        onClose={onClose}
        onSave={(_, reason) =>
          send('POST', `${rulePath}/revert`, { revision: target.revision }, { reason }).then(onReverted)
        }
      >
        <Diff before={stored} after={target.after} />
      </ChangeDialog>
    )
  }
  return (
    <Dialog title={`History of ${draft.content.name}`} onClose={onClose}>
      <ResourceView resource={history}>
        {(entries) => (
          <ol class="timeline">
            {entries.toReversed().map((entry, index) => (
              <li key={entry.position}>
                <p>
                  <Sentence entry={entry} /> · <Time value={entry.time} />
                </p>
                {entry.reason && <p class="reason">{entry.reason}</p>}
                {!isToldBySentence(entry) && <Diff before={entry.before} after={entry.after} />}
                {canRevert && index > 0 && entry.after && (
                  <button type="button" onClick={() => setTarget(entry)}>
                    Revert to this
                  </button>
                )}
              </li>
            ))}
          </ol>
        )}
      </ResourceView>
      <div class="actions end">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  )
}

/** The rules of the user who is signed in, and those of policies above them. */
export function OwnRulesPage() {
  const effective = useData<EffectiveRules>('/v1/rules/effective')
  const isPaid = session.value?.plan === 'paid'
  return (
    <PageLayout title="My rules">
      <ResourceView resource={effective}>
        {(rules) => (
          <PolicyRules
            rules={RULE_KINDS.flatMap((kind) => rules[kind]).filter(
              ({ origin }) => origin?.type === 'policy',
            )}
          />
        )}
      </ResourceView>
      {isPaid ? (
        <RuleEditor path="/v1" canEdit />
      ) : (
        <Empty>Rules of your own require a paid plan. Ask an operator of the gateway.</Empty>
      )}
    </PageLayout>
  )
}

function PolicyRules({ rules }: { readonly rules: readonly Rule[] }) {
  if (rules.length === 0) return null
  return (
    <Panel title="Rules of policies">
      <p class="muted">They come first, and only operators change them.</p>
      <ul class="list">
        {rules.map((rule) => (
          <li key={`${rule.id}`}>
            <RuleLine rule={rule} />
          </li>
        ))}
      </ul>
    </Panel>
  )
}
