/** @module dashboard/settings/settings-place  What a person chooses for this browser, and what their token may do. */
import { useId } from 'react'
import { useSession } from '../api/session.ts'
import { KeyTable } from './key-list.tsx'
import { prefer, usePreferences, type Preferences } from './preferences.ts'
import './settings.css'

const THEMES: readonly { readonly value: Preferences['theme']; readonly text: string }[] = [
  { value: 'system', text: 'As the system' },
  { value: 'light', text: 'Light' },
  { value: 'dark', text: 'Dark' },
]

export function SettingsPlace() {
  return (
    <>
      <h1>Settings</h1>
      <div className="settings">
        <Look />
        <TokenScope />
        <section className="card">
          <h2>Keys</h2>
          <KeySwitch />
          <KeyTable />
        </section>
      </div>
    </>
  )
}

function Look() {
  const { theme, utc, name } = usePreferences()
  const id = useId()
  return (
    <section className="card">
      <h2>This browser</h2>
      <fieldset className="setting">
        <legend>Colours</legend>
        {THEMES.map(({ value, text }) => (
          <label key={value}>
            <input type="radio" name={id} checked={theme === value} onChange={() => prefer({ theme: value })} /> {text}
          </label>
        ))}
      </fieldset>
      <fieldset className="setting">
        <legend>Times</legend>
        <label>
          <input type="radio" name={`${id}-zone`} checked={!utc} onChange={() => prefer({ utc: false })} /> Of this
          computer
        </label>
        <label>
          <input type="radio" name={`${id}-zone`} checked={utc} onChange={() => prefer({ utc: true })} /> UTC
        </label>
      </fieldset>
      <p className="setting">
        <label htmlFor={`${id}-name`}>Your name, for the history of configs</label>
        <input
          id={`${id}-name`}
          type="text"
          value={name}
          maxLength={100}
          autoComplete="off"
          onChange={(event) => prefer({ name: event.target.value })}
          aria-describedby={`${id}-help`}
        />
        <span id={`${id}-help`} className="soft">
          Others see what you change as dashboard:{name.trim() === '' ? 'name' : name}. The master does not check it.
        </span>
      </p>
    </section>
  )
}

function KeySwitch() {
  const { keys } = usePreferences()
  return (
    <p>
      <label>
        <input type="checkbox" checked={keys} onChange={(event) => prefer({ keys: event.target.checked })} /> Single-key
        shortcuts
      </label>
    </p>
  )
}

function TokenScope() {
  const {
    me: { role, automations, version, epoch, backend, limits },
  } = useSession()
  return (
    <section className="card">
      <h2>This token and its master</h2>
      <dl className="facts">
        <div>
          <dt>Role</dt>
          <dd>{role}</dd>
        </div>
        <div>
          <dt>Automations</dt>
          <dd>
            <bdi>{automations.includes('*') ? 'all' : automations.join(', ')}</bdi>
          </dd>
        </div>
        <div>
          <dt>Master</dt>
          <dd>
            {version} on {location.host}
          </dd>
        </div>
        <div>
          <dt>Store</dt>
          <dd>
            {backend.scheme}: {backend.durable ? 'survives a restart' : 'lost with the master'}
            {backend.shared ? ', shared by several masters' : ''}
          </dd>
        </div>
        <div>
          <dt>Life of the store</dt>
          <dd>
            <code>{epoch}</code>
          </dd>
        </div>
        <div>
          <dt>Submits</dt>
          <dd>{limits.submit_rps_per_token === 0 ? 'not limited' : `${limits.submit_rps_per_token} a second`}</dd>
        </div>
      </dl>
    </section>
  )
}
