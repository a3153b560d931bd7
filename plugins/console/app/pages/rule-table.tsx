import { changedFields, type DraftRule, isChangedDraft, sortDrafts } from '../lib/drafts.ts'
import { formatCount } from '../lib/format.ts'
import { href } from '../lib/router.ts'
import type { Rule } from '../lib/types.ts'
import { Empty, Panel } from '../ui/page.tsx'
import { Table } from '../ui/table.tsx'
import { ActionBadge, Badge } from '../ui/values.tsx'
import { summarizeRule } from './rule-summary.ts'

interface RuleTableProps {
  readonly title: string
  readonly drafts: readonly DraftRule[]
  readonly hits: ReadonlyMap<string, number>
  readonly canEdit: boolean
  readonly onAdd: () => void
  readonly onEdit: (draft: DraftRule) => void
  readonly onHistory: (draft: DraftRule) => void
  readonly onMove: (key: string, targetKey: string) => void
  readonly onRemove: (draft: DraftRule) => void
}

/** The rules of a kind in evaluation order. Rows can be dragged, or moved with their buttons. */
export function RuleTable(props: RuleTableProps) {
  const { title, canEdit, onAdd } = props
  const drafts = sortDrafts(props.drafts)
  const add = canEdit && (
    <button type="button" onClick={onAdd}>
      Add a rule
    </button>
  )
  return (
    <Panel title={title} actions={add}>
      {drafts.length === 0 ? (
        <Empty>No rules.</Empty>
      ) : (
        <Table
          columns={[
            'Rule',
            'Looks for',
            { number: 'Priority' },
            { number: 'Hits, 24 h' },
            { hidden: 'Actions' },
          ]}
        >
          <tbody>
            {drafts.map((draft, index) => (
              <RuleRow
                key={draft.key}
                draft={draft}
                above={drafts[index - 1]}
                below={drafts[index + 1]}
                {...props}
              />
            ))}
          </tbody>
        </Table>
      )}
    </Panel>
  )
}

interface RuleRowProps extends Omit<RuleTableProps, 'title' | 'drafts' | 'onAdd'> {
  readonly draft: DraftRule
  readonly above: DraftRule | undefined
  readonly below: DraftRule | undefined
}

function RuleRow({ draft, above, below, hits, canEdit, onEdit, onHistory, onMove, onRemove }: RuleRowProps) {
  const { kind, stored, content, isRemoved, key } = draft
  const rule: Partial<Rule> = content
  const count = stored && (hits.get(`${kind}:${stored.id}`) ?? 0)
  return (
    <tr
      class={`${isRemoved ? 'removed' : ''} ${content.is_enabled ? '' : 'off'}`}
      draggable={canEdit}
      onDragStart={(event) => event.dataTransfer?.setData('text/plain', key)}
      onDragOver={(event) => canEdit && event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault()
        onMove(event.dataTransfer?.getData('text/plain') ?? '', key)
      }}
    >
      <td>
        {rule.action && <ActionBadge action={rule.action} />} <b>{content.name}</b>{' '}
        {!content.is_enabled && <Badge>disabled</Badge>} {!stored && <Badge tone="good">new</Badge>}
        {stored && isChangedDraft(draft) && (
          <Badge tone="info">{isRemoved ? 'deleted' : describeChange(draft)}</Badge>
        )}
        {stored?.pattern_error && <small class="issue block">{stored.pattern_error}</small>}
      </td>
      <td class="mono clip">{summarizeRule(rule)}</td>
      <td class="number">{content.priority}</td>
      <td class="number">
        {count === undefined ? (
          ''
        ) : (
          <a href={href('/requests', { rule: `${kind}:${stored?.id}` })}>{formatCount(count)}</a>
        )}
      </td>
      <td class="row-actions">
        {canEdit && above && (
          <IconButton label={`Move ${content.name} up`} icon="↑" onClick={() => onMove(key, above.key)} />
        )}
        {canEdit && below && (
          <IconButton label={`Move ${content.name} down`} icon="↓" onClick={() => onMove(key, below.key)} />
        )}
        {stored && (
          <button
            type="button"
            class="quiet"
            onClick={() => onHistory(draft)}
            aria-label={`History of ${content.name}`}
          >
            History
          </button>
        )}
        {canEdit && !isRemoved && (
          <button
            type="button"
            class="quiet"
            onClick={() => onEdit(draft)}
            aria-label={`Edit ${content.name}`}
          >
            Edit
          </button>
        )}
        {canEdit && (
          <button
            type="button"
            class="quiet"
            onClick={() => onRemove(draft)}
            aria-label={`Delete ${content.name}`}
          >
            {isRemoved ? 'Keep' : 'Delete'}
          </button>
        )}
      </td>
    </tr>
  )
}

function describeChange(draft: DraftRule): string {
  return `changed: ${Object.keys(changedFields(draft)).join(', ')}`
}

interface IconButtonProps {
  readonly label: string
  readonly icon: string
  readonly onClick: () => void
}

function IconButton({ label, icon, onClick }: IconButtonProps) {
  return (
    <button type="button" class="quiet" aria-label={label} title={label} onClick={onClick}>
      {icon}
    </button>
  )
}
