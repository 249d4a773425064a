// Entry point: mounts the dashboard. All data is fetched with the token that the user enters (D20).
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import './styles/tokens.css'
import './styles/page.css'
import './styles/media.css'
import './styles/controls.css'
import './styles/tables.css'
import './styles/components.css'
import { App } from './app.tsx' // Imported after the base styles, so that page styles override them.

const root = document.querySelector('#root')
if (root === null) throw new TypeError('index.html has no #root')
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
