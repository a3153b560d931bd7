import { useState } from 'preact/hooks'
import { get, send } from '../lib/api.ts'
import type { DraftRule } from '../lib/drafts.ts'
import { humanize } from '../lib/format.ts'
import { useResource } from '../lib/resource.ts'
import type { AuditEntry } from '../lib/types.ts'
import { ChangeDialog, Dialog } from '../ui/dialog.tsx'
import { Diff } from '../ui/diff.tsx'
import { ResourceView } from '../ui/page.tsx'
import { ActorName, Time } from '../ui/values.tsx'

interface RuleHistoryProps {
  readonly path: string
  readonly draft: DraftRule
  readonly canRevert: boolean
  readonly onReverted: () => void
  readonly onClose: () => void
}

/** All changes of a rule, newest first. Each can be reverted to. */
export function RuleHistory({ path, draft, canRevert, onReverted, onClose }: RuleHistoryProps) {
  const { kind, stored } = draft
  const rulePath = `${path}/${kind}-rules/${stored?.id}`
  const history = useResource(rulePath, () => get<readonly AuditEntry[]>(`${rulePath}/history`))
  const [target, setTarget] = useState<AuditEntry>()

  if (target !== undefined) {
    return (
      <ChangeDialog
        title={`Revert to revision ${target.revision}?`}
        action="Revert"
        onClose={onClose}
        onSave={(reason) =>
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
                  <b>{humanize(entry.event)}</b> by <ActorName actor={entry.actor} /> ·{' '}
                  <Time value={entry.time} />
                </p>
                {entry.reason && <p class="reason">{entry.reason}</p>}
                <Diff before={entry.before} after={entry.after} />
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
