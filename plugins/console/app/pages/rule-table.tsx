import { useLayoutEffect, useRef, useState } from 'preact/hooks'
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
  const table = useRef<HTMLDivElement>(null)
  const [moved, setMoved] = useState<MovedRule>()

  function move(key: string, targetKey: string, direction?: Direction) {
    props.onMove(key, targetKey)
    setMoved({ key, direction })
  }

  // Browsers take the focus from a row that moves. A key that is pressed before the next frame needs it, too.
  useLayoutEffect(() => {
    if (!moved?.direction) return
    const row = [...(table.current?.querySelectorAll('tr') ?? [])].find(({ id }) => id === moved.key)
    const buttons = [...(row?.querySelectorAll<HTMLButtonElement>('[data-direction]') ?? [])]
    const same = buttons.find(({ dataset }) => dataset.direction === moved.direction)
    ;(same ?? buttons[0])?.focus()
  }, [moved])
  const place = drafts.findIndex(({ key }) => key === moved?.key)
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
        <div ref={table}>
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
                  onMove={move}
                />
              ))}
            </tbody>
          </Table>
          <p class="hidden" role="status">
            {place >= 0 && `${drafts[place]?.content.name} is number ${place + 1} of ${drafts.length}`}
          </p>
        </div>
      )}
    </Panel>
  )
}

type Direction = 'up' | 'down'

interface MovedRule {
  readonly key: string
  /** Of the button that moved it; undefined if it was dragged. */
  readonly direction: Direction | undefined
}

interface RuleRowProps extends Omit<RuleTableProps, 'title' | 'drafts' | 'onAdd' | 'onMove'> {
  readonly onMove: (key: string, targetKey: string, direction?: Direction) => void
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
      id={key}
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
        {stored?.pattern_error && <small class="issue block">Never matches: {stored.pattern_error}</small>}
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
          <MoveButton name={content.name} direction="up" onMove={() => onMove(key, above.key, 'up')} />
        )}
        {canEdit && below && (
          <MoveButton name={content.name} direction="down" onMove={() => onMove(key, below.key, 'down')} />
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

interface MoveButtonProps {
  readonly name: string
  readonly direction: Direction
  readonly onMove: () => void
}

function MoveButton({ name, direction, onMove }: MoveButtonProps) {
  const label = `Move ${name} ${direction}`
  return (
    <button
      type="button"
      class="quiet"
      aria-label={label}
      title={label}
      data-direction={direction}
      onClick={onMove}
    >
      {direction === 'up' ? '↑' : '↓'}
    </button>
  )
}
