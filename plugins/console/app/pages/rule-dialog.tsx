import { useState } from 'preact/hooks'
import { get } from '../lib/api.ts'
import type { DraftRule, RuleContent } from '../lib/drafts.ts'
import { useResource } from '../lib/resource.ts'
import { isOperator } from '../lib/session.ts'
import { Dialog } from '../ui/dialog.tsx'
import { CheckField, Form, SelectField, TextField } from '../ui/fields.tsx'
import { PatternTest } from './pattern-test.tsx'

interface RuleDialogProps {
  readonly draft: DraftRule
  readonly onDone: (draft: DraftRule) => void
  readonly onClose: () => void
}

/** Edits a rule. The result is a draft: nothing is saved yet. */
export function RuleDialog({ draft, onDone, onClose }: RuleDialogProps) {
  const [content, setContent] = useState<RuleContent>(draft.content)
  const [json, setJson] = useState<Readonly<Record<string, string>>>({
    match_json: JSON.stringify(content.match_json ?? {}, null, 2),
    action_json: JSON.stringify(content.action_json ?? {}, null, 2),
  })
  const set = (changes: Readonly<Record<string, unknown>>) =>
    setContent({ ...content, ...changes } as RuleContent)
  const issues = Object.fromEntries(Object.entries(json).map(([name, text]) => [name, findJsonIssue(text)]))
  const isRouting = draft.kind === 'routing'

  function submit() {
    if (isRouting && Object.values(issues).some(Boolean)) return
    const parsed = Object.fromEntries(Object.entries(json).map(([name, text]) => [name, JSON.parse(text)]))
    onDone({ ...draft, content: { ...content, ...(isRouting && parsed) } as RuleContent })
  }

  return (
    <Dialog title={`${draft.stored ? 'Edit' : 'New'} ${draft.kind} rule`} onClose={onClose}>
      <Form onSubmit={submit}>
        <TextField
          label="Name"
          value={content.name}
          onInput={(name) => set({ name })}
          required
          maxLength={255}
        />
        {isRouting ? (
          <>
            <TextField
              label="Conditions (match_json)"
              rows={4}
              mono
              value={json.match_json ?? ''}
              onInput={(match_json) => setJson({ ...json, match_json })}
              issue={issues.match_json}
              hint="Such as {&quot;contains&quot;: &quot;contract&quot;}. {} matches every request."
            />
            <TextField
              label="Actions (action_json)"
              rows={4}
              mono
              value={json.action_json ?? ''}
              onInput={(action_json) => setJson({ ...json, action_json })}
              issue={issues.action_json}
              hint={'Such as {"set_mode": "quality"}, or with set_model, set_provider, split, shadow.'}
            />
          </>
        ) : (
          <FirewallFields content={content} set={set} />
        )}
        <div class="row">
          <TextField
            label="Priority"
            type="number"
            value={String(content.priority)}
            onInput={(priority) => set({ priority: Number(priority) })}
            hint="Rules with a higher priority come first."
          />
          <CheckField
            label="Enabled"
            checked={content.is_enabled}
            onChange={(is_enabled) => set({ is_enabled })}
          />
        </div>
        {!isRouting && isOperator() && <PatternTest content={content} />}
        <div class="actions end">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Apply
          </button>
        </div>
      </Form>
    </Dialog>
  )
}

function findJsonIssue(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return undefined
    return 'Must be a JSON object.'
  } catch {
    return 'This is not valid JSON.'
  }
}

interface Preset {
  readonly name: string
  readonly description: string
}

interface FirewallFieldsProps {
  readonly content: RuleContent
  readonly set: (changes: Readonly<Record<string, unknown>>) => void
}

function FirewallFields({ content, set }: FirewallFieldsProps) {
  const presets = useResource('presets', () =>
    get<readonly Preset[]>(isOperator() ? '/admin/firewall-presets' : '/v1/firewall-presets'),
  )
  const isPreset = content.type === 'preset'
  const known = presets.data ?? []
  const text = (field: string) => String(content[field] ?? '')
  return (
    <>
      <div class="row">
        <SelectField
          label="Type"
          value={text('type')}
          options={['substring', 'regex', 'preset']}
          onChange={(type) => set({ type, pattern: type === 'preset' ? (known[0]?.name ?? '') : '' })}
        />
        <SelectField
          label="Looks at"
          value={text('scope')}
          options={SCOPES}
          onChange={(scope) => set({ scope })}
        />
        <SelectField
          label="Action"
          value={text('action')}
          options={['block', 'mask', 'warn']}
          onChange={(action) => set({ action, ...(action !== 'mask' && { replacement: null }) })}
        />
      </div>
      {isPreset ? (
        <SelectField
          label="Preset"
          value={text('pattern')}
          options={known.map(({ name }) => name)}
          onChange={(pattern) => set({ pattern })}
          hint={known.find(({ name }) => name === content.pattern)?.description}
        />
      ) : (
        <TextField
          label="Pattern"
          mono
          value={text('pattern')}
          onInput={(pattern) => set({ pattern })}
          required
        />
      )}
      {content.action === 'mask' && (
        <TextField
          label="Replacement"
          mono
          value={text('replacement')}
          onInput={(replacement) => set({ replacement: replacement || null })}
          hint="Empty: the default replacement."
        />
      )}
    </>
  )
}

const SCOPES = [
  ['prompt', 'prompts'],
  ['response', 'replies'],
] as const
