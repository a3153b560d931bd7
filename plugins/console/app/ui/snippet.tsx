import { useState } from 'preact/hooks'
import { GATEWAY } from '../lib/api.ts'
import type { ChatDraft } from '../lib/chat-draft.ts'
import { SNIPPET_NAMES, SNIPPETS, type SnippetName } from '../lib/snippets.ts'
import { CopyButton } from './dialogs.tsx'
import { Panel, Tabs } from './page.tsx'

/** A chat as code, for a terminal or an SDK. */
export function SnippetPanel({ title, draft }: { readonly title: string; readonly draft: ChatDraft }) {
  const [name, setName] = useState<SnippetName>('curl')
  const code = SNIPPETS[name](GATEWAY.href, draft)
  return (
    <Panel title={title} actions={<CopyButton text={code} label={`Copy ${name}`} />}>
      <Tabs label="Language" tabs={SNIPPET_NAMES} current={name} onSelect={setName} />
      <pre class="code">
        <code>{code}</code>
      </pre>
      <p class="muted">
        <code>SIGNALBOX_KEY</code> is an API key of yours, in the environment.
      </p>
    </Panel>
  )
}
