import { useState } from 'preact/hooks'
import { route } from '../lib/router.ts'
import { isOpenView, openView, removeView, savedViews, saveView } from '../lib/views.ts'
import { Form, TextField } from './fields.tsx'
import { PopupButton } from './popup.tsx'

/** Opens, saves and removes views of the page. */
export function ViewsButton() {
  // Users begin with their requests, at an address without a page.
  const page = route.value.path.join('/') || 'requests'
  const views = savedViews.value[page] ?? []
  const current = views.find(isOpenView)
  return (
    <PopupButton label={current ? `View: ${current.name}` : 'Views'}>
      {(close) => (
        <div class="popup-menu">
          {views.map((view) => (
            <span key={view.name} class="spread">
              <button
                type="button"
                class="quiet"
                aria-pressed={view === current}
                onClick={() => {
                  openView(page, view)
                  close()
                }}
              >
                {view.name}
              </button>
              <button
                type="button"
                class="quiet"
                aria-label={`Remove the view ${view.name}`}
                onClick={() => removeView(page, view)}
              >
                ✕
              </button>
            </span>
          ))}
          <NewView
            onSave={(name) => {
              saveView(page, name)
              close()
            }}
          />
        </div>
      )}
    </PopupButton>
  )
}

function NewView({ onSave }: { readonly onSave: (name: string) => void }) {
  const [name, setName] = useState('')
  return (
    <Form onSubmit={() => name.trim() !== '' && onSave(name.trim())}>
      <TextField
        label="Save this view as"
        hint="Filters, order, range and columns, in this browser."
        value={name}
        onInput={setName}
        maxLength={60}
        required
      />
      <button type="submit" class="primary">
        Save
      </button>
    </Form>
  )
}
